package resources

import "github.com/mcp-fsserve/mcp-fsserve/watcher"

// twin is a file that changed and has other names.
type twin struct {
	file     *file // nil for a name that is not served
	stat     *stat
	evidence watcher.Evidence
}

func (a *apply) twinsOf(f *file, s *stat, ev watcher.Evidence) {
	if s.nlink > 1 && !s.link {
		a.twins = append(a.twins, twin{f, s, ev})
	}
}

// madeOf is what the evidence for a new name says of the inode's other names: making a name changes none of them, so that a
// write since must show in their size or time.
func madeOf(ev watcher.Evidence) watcher.Evidence { return ev &^ watcher.Content }

// writtenOf is what the evidence for a name that is not new says of the inode's other names. If something was created or moved
// there, what was written before may have been another file.
func writtenOf(ev watcher.Evidence) watcher.Evidence {
	if ev&watcher.Created != 0 {
		return madeOf(ev)
	}
	return ev
}

// searchTwins notes the names of inodes that had one name when their state was taken, and have others now. The whole index is
// gone through, in memory, but only once a batch, and once for an inode that has names elsewhere.
func (a *apply) searchTwins(changed []twin) {
	var wanted map[inode]twin
	for _, t := range changed {
		if a.root.twins.partly(t.stat) {
			if wanted == nil {
				wanted = make(map[inode]twin)
			}
			wanted[inode{t.stat.dev, t.stat.ino}] = t
		}
	}
	if len(wanted) == 0 {
		return
	}
	var search func(d *dir, path string)
	search = func(d *dir, path string) {
		for f := range d.files.all() {
			s := f.stat.Load()
			if s == nil || s.link || d.links[f.name] != nil { // a link may have just taken the place of a file
				continue
			}
			if t, ok := wanted[inode{s.dev, s.ino}]; ok {
				a.root.twins.note(join(path, f.name), f, t.stat)
			}
		}
		for sub := range d.dirs.all() {
			search(sub, join(path, sub.name))
		}
	}
	search(a.root.tree, "")
	for id, t := range wanted {
		a.root.twins.found(id, t.file == nil)
	}
}

// followTwins looks at the other names of the files that changed.
func (a *apply) followTwins() {
	changed := a.twins
	a.twins = nil // what observe adds has the same names
	a.searchTwins(changed)
	for _, t := range changed {
		for _, n := range a.root.twins.of(t.file, t.stat) {
			if _, known := a.keys[n.rel]; known || n.file.gone.Load() {
				continue
			}
			fi, k, err := a.root.lstat(n.rel)
			if err != nil {
				a.postpone(n.rel, &hint{evidence: t.evidence}, err)
				continue
			}
			if k != regular {
				continue
			}
			if s := newStat(fi, a.root.who); s.sameFile(t.stat) {
				a.observe(n.file, n.rel, s, &hint{evidence: t.evidence | watcher.Attribute})
			}
		}
	}
	a.twins = nil
}
