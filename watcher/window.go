package watcher

import (
	"context"
	"time"
)

// window turns hints into the batch.
func (l *loop) window(ctx context.Context, h hints, now time.Time) {
	if h.loss != nil {
		l.lose(h.loss, now)
	}
	for path := range h.dirs {
		l.doubts.add(path)
	}
	if h.audit {
		l.unmounted()
	}
	for path, e := range h.dirty {
		l.tree.dirs.hear(path)
		if e&Structure != 0 {
			l.tree.drop(path)
		}
	}
	p := plan{tree: l.tree}
	for path, e := range h.dirty {
		s, err := l.tree.stat(path)
		p.consider(path, e, s, err)
		if missing(path, s, err) || replaced(path, e, s) {
			l.looks.hold(path, e, now)
			continue
		}
		l.batch.mark(path, e|l.looks.release(path, e, now))
		if path == "" && e&Structure != 0 {
			l.batch.rescan = append(l.batch.rescan, path)
		}
	}
	p.unwatched()
	l.reconcile(ctx, append(p.visit, p.denied...))
	l.batch.rescan = append(l.batch.rescan, p.relist()...)
	if l.rootChanged {
		l.rootChanged = false
		l.tellPresence(ctx)
	}
}

// missing reports whether nothing that can be served is at path. The root must be a directory.
func missing(path string, s stat, err error) bool {
	if err != nil {
		return gone(err)
	}
	return path == "" && !s.dir
}

// replaced reports whether a file is at path that came after the last event: what was there has gone, so this one's event is on
// the way. It takes the path along, or one save would be told twice. A directory is not held up, as all in it hangs on it.
func replaced(path string, e Evidence, s stat) bool {
	return path != "" && !s.dir && e&(Structure|Content) == Structure
}

// plan is what a window makes the watcher do about directories: as little as it can, for a Rescan costs the consumer a
// look at everything below, and meanwhile no save is announced. What becomes watched by a visit is in Rescan by itself.
type plan struct {
	*tree
	visit   []string // to be reconciled
	rescan  []string // to be listed again though their watches were there all the time
	denied  []string // to be reconciled, and listed again if that succeeds
	created []string // registered, and nothing is known against it but that something was created at the path
}

// consider decides about one hint, for a path with this stat or error.
func (p *plan) consider(path string, e Evidence, s stat, err error) {
	n := p.dirs.byPath[path]
	switch {
	case n == nil && !s.dir && (err == nil || gone(err)):
		return // not a directory, now or before
	case n == nil, n.left, n.id != s.id:
		p.visit = append(p.visit, path) // to be watched, or no longer
		return
	}
	// The directory is the one that has been watched since before it was last listed, so all that happened in it since has
	// events of its own.
	if e&Content != 0 {
		p.created = append(p.created, path)
	}
	if e&Names != 0 {
		p.children(n)
	}
	// Attributes matter if they let it be listed, or keep it from being. If they did one after the other since the last look, a
	// walk that came between was denied what is below.
	switch {
	case e&Attribute == 0:
	case n.shut || !p.accessible(path):
		p.visit = append(p.visit, path)
		p.rescan = append(p.rescan, path)
	default:
		for d := range p.dirs.denied {
			if below(d.path, path) {
				p.denied = append(p.denied, d.path)
			}
		}
	}
}

// children finds the directories in n's that are not those which are registered.
func (p *plan) children(n *node) {
	f, err := p.disk.open(p.root.abs(n.path), n.path == "")
	if err != nil {
		return
	}
	defer f.Close()
	there := map[string]bool{}
	err = f.subdirs(func(name string) { there[join(n.path, name)] = true })
	for path := range there {
		if p.differs(p.dirs.byPath[path], path) {
			p.visit = append(p.visit, path)
		}
	}
	for c := n.child; c != nil && err == nil; c = c.next {
		if !there[c.path] {
			p.visit = append(p.visit, c.path)
		}
	}
}

// differs reports whether the directory that was just listed at path is not c, which is registered there, nil for none.
func (p *plan) differs(c *node, path string) bool {
	switch {
	case c == nil:
		return !p.skip(path)
	case c.left: // the slow scans see to it
		return false
	}
	s, err := p.stat(path)
	return err != nil || s.id != c.id
}

// relist is what to list again when all is reconciled. What was denied need not be a directory.
func (p *plan) relist() []string {
	for _, path := range p.denied {
		if _, still := p.dirs.denied[p.dirs.byPath[path]]; !still {
			p.rescan = append(p.rescan, path)
		}
	}
	return p.rescan
}

// accessible reports whether the directory at path can be listed, and what is in it looked at.
func (t *tree) accessible(path string) bool {
	f, err := t.disk.open(t.root.abs(path), path == "")
	if err != nil {
		return false
	}
	defer f.Close()
	return f.searchable()
}

// unwatched deals with what was created where a directory is registered. Mostly a walk was there before the event. But two
// renames, each onto an empty directory, can bring the number of the first back to the path, without evidence of structure, while
// its watch has gone with it. The source has read of that by now, so it knows.
func (p *plan) unwatched() {
	if len(p.created) == 0 {
		return
	}
	known := map[string]struct{}{}
	for _, abs := range p.watches.List() {
		known[abs] = struct{}{}
	}
	for _, path := range p.created {
		if _, ok := known[p.root.abs(path)]; !ok {
			p.drop(path)
			p.visit = append(p.visit, path)
		}
	}
}

// lookAgain emits the paths whose second look is due. What is not as it was joins the next window; it is remembered, because it
// may be as it was again by then.
func (l *loop) lookAgain(now time.Time) {
	for path, x := range l.looks.take(now) {
		e := x.evidence
		if !l.differs(path, x) {
			e |= x.settled(now)
		} else if now.Before(x.last()) {
			l.looks.keep(path, x, now)
			if l.pump.says(path) == 0 {
				l.pump.merge(path, x.evidence) // its event is on the way, and may come late
			}
			continue
		}
		l.batch.mark(path, e)
		if path == "" {
			l.batch.rescan = append(l.batch.rescan, path)
		}
	}
}

// differs reports whether path is not as it was, or was not meanwhile.
func (l *loop) differs(path string, x look) bool {
	contrary := Structure
	if x.absent {
		contrary |= Content
	}
	if l.pump.says(path)&contrary != 0 {
		return true
	}
	if !x.absent {
		return false
	}
	s, err := l.tree.stat(path)
	return !missing(path, s, err)
}
