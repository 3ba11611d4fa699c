package resources

import (
	"io/fs"
	"os"
	"slices"
)

// unheard is a link whose way leads through a directory without a watch, so that no event tells of all that matters to it.
type unheard struct {
	rel     string
	file    *file         // nil: it is not served
	through []string      // as in link
	was     []fs.FileInfo // of each of through when last looked at, if the link is not served; nil before
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
			u := &unheard{rel: l.rel(), file: l.dir.file(l.name), through: l.through}
			if was := known[u.rel]; was != nil && slices.Equal(was.through, u.through) {
				u.was = was.was
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
	now := make([]fs.FileInfo, len(u.through)) // what is not there is nil
	for i, p := range u.through {
		if fi, err := os.Lstat(r.host(p)); err == nil {
			now[i] = fi
		}
	}
	same := u.was != nil && slices.EqualFunc(now, u.was, leadsAlike)
	u.was = now
	return !same
}

// leadsAlike reports whether a name on the way of a link is what it was, as far as the way goes. A link that is made anew may
// have the number of the one before.
func leadsAlike(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Mode() == b.Mode() && (a.Mode().Type() != fs.ModeSymlink || a.ModTime().Equal(b.ModTime()))
}
