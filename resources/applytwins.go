package resources

import "github.com/mcp-fsserve/mcp-fsserve/watcher"

// twin is a file that changed and has other names.
type twin struct {
	file     *file // nil for a hidden name
	stat     *stat
	evidence watcher.Evidence
}

func (a *apply) twinsOf(f *file, s *stat, ev watcher.Evidence) {
	if s.nlink > 1 && !s.link {
		a.twins = append(a.twins, twin{f, s, ev})
	}
}

// followTwins looks at the other names of the files that changed.
func (a *apply) followTwins() {
	changed := a.twins
	a.twins = nil // what observe adds has the same names
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
