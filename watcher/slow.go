package watcher

import (
	"context"
	"time"
)

const (
	rootEvery = 2 * time.Second  // between checks that the root is still the directory that is watched
	slowEvery = 10 * time.Second // between scans of directories that could not be opened, and no less than slowRest times their duration
	slowRest  = 10
)

// rootCheck asks what no event tells: whether an ancestor was moved, or something new is at the root's path.
func (l *loop) rootCheck() {
	s, err := l.tree.stat("")
	there := err == nil && s.dir
	changed := there
	if n := l.tree.dirs.byPath[""]; n != nil && n.left {
		changed = missing("", s, err) // whether it can be watched is for the slow scans to find
	} else if n != nil {
		changed = !there || s.id != n.id
	}
	if changed {
		l.pump.merge("", Structure)
	}
}

// scanSlowly makes up for looks that could not be had, and tries for them again.
func (l *loop) scanSlowly(ctx context.Context) {
	l.slow = time.Time{}
	start := time.Now()
	var dirs []string
	for n := range l.tree.dirs.slow {
		dirs = append(dirs, n.path)
	}
	l.batch.rescan = append(l.batch.rescan, dirs...)
	l.tree.slowly = true
	l.absorb(l.tree.reconcile(ctx, dirs, true)) // some may have been in doubt when they could not be opened
	l.tree.slowly = false
	if len(l.tree.dirs.slow) == 0 {
		clear(l.tree.said)
		l.slow = time.Time{}
		return
	}
	l.send(ctx)
	l.slow = time.Now().Add(max(jitter(slowEvery), slowRest*time.Since(start)))
}
