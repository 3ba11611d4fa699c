package resources

import (
	"io/fs"
	"os"
)

// unheard is a link whose way leads through a directory without a watch, so that no event tells of all that matters to it.
type unheard struct {
	rel  string
	file *file // nil: it is not served
	end  string
	was  fs.FileInfo // of end when it was last looked at, if the link is not served
	seen bool        // it was looked at
}

// unheardLinks returns those links. It returns old if no link and no directory has come, gone or changed since ways.
func (r *Root) unheardLinks(old []*unheard, ways *uint64) []*unheard {
	if r.ways.Load() == *ways {
		return old
	}
	r.writer.Lock()
	defer r.writer.Unlock()
	*ways = r.ways.Load()
	known := make(map[string]*unheard, len(old))
	for _, u := range old {
		known[u.rel] = u
	}
	var out []*unheard
	done := make(map[*link]bool)
	for p, links := range r.links.by {
		dir, _ := split(p)
		if _, rest := r.tree.descend(dir); rest == "" {
			continue
		}
		for l := range links {
			if done[l] {
				continue
			}
			done[l] = true
			u := &unheard{rel: l.rel(), file: l.dir.file(l.name), end: l.end()}
			if was := known[u.rel]; was != nil && was.end == u.end {
				u.was, u.seen = was.was, was.seen
			}
			out = append(out, u)
		}
	}
	return out
}

// astray reports whether a link may lead elsewhere than it did. Of one that is not served the first look does not know, so it
// says yes.
func (r *Root) astray(u *unheard) bool {
	if u.file != nil {
		return r.strayed(u.rel, u.file)
	}
	now, err := os.Lstat(r.host(u.end))
	if err != nil {
		now = nil
	}
	same := u.seen && (now == nil) == (u.was == nil) &&
		(now == nil || os.SameFile(now, u.was) && now.Mode() == u.was.Mode())
	u.was, u.seen = now, true
	return !same
}
