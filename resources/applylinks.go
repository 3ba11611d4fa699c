package resources

import (
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// errand is why a link is looked at again.
type errand struct {
	hint         // of its target, and of nothing below that
	renewed bool // the link itself is not the one it was
}

func (a *apply) follow(l *link, e errand) {
	if a.errands == nil {
		a.errands = make(map[*link]errand)
	}
	was := a.errands[l]
	e.evidence |= was.evidence
	e.rescan = e.rescan || was.rescan
	e.renewed = e.renewed || was.renewed
	a.errands[l] = e
}

// concern has the links that lead through rel, of which h tells, looked at again, and those that stopped above it.
func (a *apply) concern(rel string, h hint) {
	for l := range a.root.links.by[rel] {
		e := errand{hint: hint{rescan: h.rescan}}
		if l.target == rel {
			e.evidence = h.evidence
		}
		a.follow(l, e)
	}
	for i := range len(rel) {
		if rel[i] == '/' {
			for l := range a.root.links.stuck[rel[:i]] {
				a.follow(l, errand{})
			}
		}
	}
}

// concerned finds the links that lead through what changed or is said to have. Their names themselves were dealt with
// before, as were all links in a directory that was listed again.
func (a *apply) concerned() {
	for rel := range a.keys {
		if a.listed[rel] == 0 {
			a.concern(rel, hint{evidence: watcher.Content})
		} else { // perhaps it was there all the time, and its rules changed
			a.concern(rel, hint{})
		}
	}
	for rel := range a.folders {
		a.concern(rel, hint{evidence: watcher.Content})
	}
	a.hints.each("", func(rel string, h *hint) {
		if _, ok := a.moment[rel]; ok {
			return
		}
		switch {
		case h.rescan || h.evidence&(watcher.Content|watcher.Structure) != 0:
			a.concern(rel, *h)
		case h.evidence != 0:
			if _, rest := a.root.tree.descend(rel); rest != "" { // not a visible directory, whose attributes mean nothing
				a.concern(rel, *h)
			}
		}
	})
}

func (a *apply) followLinks() {
	if len(a.root.links.by)+len(a.errands) == 0 {
		return
	}
	a.concerned()
	edits := make(map[*dir]*edit)
	for l, why := range a.errands {
		if l.dir.gone || l.dir.links[l.name] != l {
			continue
		}
		e := edits[l.dir]
		if e == nil {
			e = &edit{}
			edits[l.dir] = e
		}
		a.followLink(l, why, e)
	}
	for d, e := range edits {
		a.commitEdit(d, e)
	}
}

func (a *apply) followLink(l *link, why errand, e *edit) {
	rel := l.rel()
	to, err := a.root.resolve(rel)
	if err != nil {
		a.postpone(rel, &why.hint, err)
		return
	}
	if to.stat == nil {
		_, k, err := a.root.lstat(rel)
		if err != nil {
			a.postpone(rel, &why.hint, err)
			return
		}
		if k != symlink { // what became of the link itself is judged when its own name is told of
			return
		}
	}
	f := l.dir.file(l.name)
	if f != nil && !why.renewed && a.awaited(l, to, &why.hint) {
		return
	}
	a.root.lead(l, to)
	a.serveLink(rel, f, to.stat, &why.hint, e, l.name)
}

// awaited: what l leads to is away, and a batch that tells of it is yet to come. A file is away for a moment while it is
// being saved, and the watcher tells of it only if it stays away. Where nothing is watched nobody will tell, so that the link
// gets the second look.
func (a *apply) awaited(l *link, to lead, h *hint) bool {
	if !to.missing || len(to.through) == 0 {
		return false
	}
	end := to.through[len(to.through)-1]
	if _, led := a.root.links.by[end][l]; !led {
		return false
	}
	if _, ok := a.moment[end]; ok {
		return true
	}
	if a.hints.tells(end) {
		return false
	}
	d, rest := a.root.tree.descend(end)
	if strings.Contains(rest, "/") {
		return a.unsettled(l.rel(), h)
	}
	if rest == "" || d.file(rest) != nil {
		return true
	}
	return verdictOn(d.in, d.path(), rest, true).hidden() || verdictOn(d.in, d.path(), rest, false).hidden()
}

// serveLink makes the entry of a link what its target is now. f is its entry, nil if it is not served.
func (a *apply) serveLink(rel string, f *file, s *stat, h *hint, e *edit, name string) {
	switch {
	case s == nil && f != nil:
		a.dropFile(rel, f)
		e.setFile(name, nil)
	case s != nil && f == nil:
		f = &file{name: name}
		f.stat.Store(s)
		a.addFile(rel)
		e.setFile(name, f)
	case s != nil:
		old := f.stat.Load()
		if old == nil || !old.link || h.differs(old, s) {
			a.key(rel)
		} else {
			s.sniffed.Store(old.sniffed.Load())
		}
		f.stat.Store(s)
	}
}
