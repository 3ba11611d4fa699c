package watcher

import (
	"context"
	"time"
)

const (
	slowEvery = 10 * time.Second // between scans of directories that could not be opened, and no less than slowRest times their duration
	slowRest  = 10
)

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
		if len(l.tree.said) > 0 {
			l.tree.voice.ends(unwatchedEnds)
		}
		clear(l.tree.said)
		l.slow = time.Time{}
		return
	}
	l.send(ctx)
	l.slow = time.Now().Add(max(jitter(slowEvery), slowRest*time.Since(start)))
}
