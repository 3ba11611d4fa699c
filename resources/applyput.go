package resources

import (
	"io/fs"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// put makes the entry name of d, where in is in force, what the disk says it is: of kind k, with fi for a regular file. A
// directory that stays one is not for put.
func (a *apply) put(d *dir, in *scope, rel, name string, k kind, fi fs.FileInfo, h *hint, e *edit) {
	f := d.file(name)
	if sub := d.dir(name); sub != nil {
		a.dropDir(sub, rel)
		e.setDir(name, nil)
	}
	if l := d.links[name]; l != nil && k != symlink {
		a.root.dropLink(l)
	}
	switch {
	case k == regular && f == nil:
		e.setFile(name, a.newFile(rel, name, newStat(fi, a.root.who), h.evidence))
	case k == regular:
		a.observe(f, rel, newStat(fi, a.root.who), h)
	case k == symlink:
		a.putLink(d, rel, name, f, h)
	case f != nil:
		a.dropFile(rel, f)
		e.setFile(name, nil)
	}
	if k == directory {
		e.setDir(name, a.grow(d, rel, name, in, h))
	}
}

func (a *apply) newFile(rel, name string, s *stat, ev watcher.Evidence) *file {
	f := &file{name: name}
	f.stat.Store(s)
	a.addFile(rel)
	a.root.twins.note(rel, f, s)
	a.twinsOf(f, s, madeOf(ev)) // it may be a new name of an old file, and was perhaps written to
	return f
}

// putLink leaves it to followLinks where the link leads. f is what is served under the name so far.
func (a *apply) putLink(d *dir, rel, name string, f *file, h *hint) {
	if l := d.links[name]; l != nil {
		a.follow(l, errand{hint{evidence: h.evidence, rescan: h.rescan}, h.evidence&(watcher.Content|watcher.Structure) != 0})
		return
	}
	a.follow(a.root.newLink(d, name), errand{renewed: true})
	if f != nil {
		a.key(rel)
		a.leave(f, f.stat.Load())
	}
}

// leave takes note that the name of f no longer stands for the inode that s tells of.
func (a *apply) leave(f *file, s *stat) {
	if s != nil {
		a.twinsOf(f, s, 0) // it may have been written to before
		a.root.twins.forget(f, s)
	}
}

// observe compares a regular file with what was known of it.
func (a *apply) observe(f *file, rel string, s *stat, h *hint) {
	old := f.stat.Load()
	if h.evidence == 0 && !h.rescan && (old == nil || !old.link) {
		return // only something below the name was said to be dirty
	}
	changed := h.evidence&watcher.Content != 0
	if old != nil {
		changed = old.link || h.differs(old, s)
		if !changed {
			s.sniffed.Store(old.sniffed.Load())
		}
	}
	ev := writtenOf(h.evidence)
	if was := f.stat.Swap(s); was != nil && (was.link || !was.sameFile(s)) {
		a.leave(f, was)
		ev = madeOf(ev)
	}
	a.root.twins.note(rel, f, s)
	if changed {
		a.key(rel)
		a.twinsOf(f, s, ev)
	}
}

// differs reports whether a file that was in the state old, and is in the state s now, is to be announced.
func (h *hint) differs(old, s *stat) bool {
	switch {
	case h.evidence&watcher.Content != 0:
		return true
	case h.rescan && h.evidence&watcher.Attribute == 0:
		return !s.untouched(old)
	}
	return !s.unchanged(old) // a change time alone is what chmod leaves
}

func (a *apply) dropFile(rel string, f *file) {
	a.tally(rel, -1)
	f.gone.Store(true)
	a.leave(f, f.stat.Load())
}

func (a *apply) addFile(rel string) { a.tally(rel, +1) }

// dropDir takes a directory and all below it out of the catalogue.
func (a *apply) dropDir(d *dir, path string) {
	d.gone = true
	a.folder(path)
	for _, l := range d.links {
		a.root.dropLink(l)
	}
	for f := range d.files.all() {
		a.dropFile(join(path, f.name), f)
	}
	for sub := range d.dirs.all() {
		a.dropDir(sub, join(path, sub.name))
	}
}
