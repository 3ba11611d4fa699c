package watcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	lagging    = 2 * time.Second // between the two scans after a loss
	repairRest = 2               // a repair waits this many durations of the last one
	lossOver   = time.Minute     // losses closer together are one condition, logged once
)

// doubts is where events are missing, or were not kept apart.
type doubts struct {
	dirs   map[string]struct{} // at and below them no watch is trusted until a walk went over them
	lost   bool                // events were missing since the last repair of everything
	from   time.Time           // no repair begins before
	second time.Time           // second scan after a loss, zero when none is owed
	over   time.Time           // when the last loss is long enough ago, zero when that was said

	repairs uint64 // those that have ended
}

func (d *doubts) add(path string) {
	if d.dirs == nil {
		d.dirs = map[string]struct{}{}
	}
	d.dirs[path] = struct{}{}
}

// next is when a repair may begin, zero when none is needed.
func (d *doubts) next() time.Time {
	if len(d.dirs) == 0 {
		return time.Time{}
	}
	return d.from
}

// lose has everything looked at again.
func (l *loop) lose(err error, now time.Time) {
	if l.doubts.over.IsZero() {
		if errors.Is(err, fsnotify.ErrEventOverflow) {
			err = fmt.Errorf("%w: %s", err, queueCure)
		}
		l.voice.begins(lossBegins, err)
	}
	l.voice.stats.add(func(s *Stats) { s.Overflows++ })
	l.doubts.over = now.Add(lossOver)
	l.doubts.lost = true
	l.doubts.add("")
}

// repair walks what is in doubt. What becomes doubtful meanwhile needs another repair: this one may have been too early for it.
func (l *loop) repair(ctx context.Context) {
	d := &l.doubts
	dirs := slices.Collect(maps.Keys(d.dirs))
	_, all := d.dirs[""]
	lost := d.lost
	d.dirs, d.lost = nil, false
	l.voice.stats.add(func(s *Stats) { s.Repairs++ })
	start := time.Now()
	l.absorb(l.tree.reconcile(ctx, dirs, true))
	if all {
		l.reconcile(ctx, l.tree.audit())
	}
	l.batch.rescan = append(l.batch.rescan, dirs...)
	l.send(ctx)
	d.repairs++
	end := time.Now()
	d.from = end.Add(repairRest * end.Sub(start))
	if lost {
		d.second = end.Add(lagging)
	}
}

// unmounted has that looked at which the source has ceased to watch, as it does when a file system goes.
func (l *loop) unmounted() {
	missing := l.tree.audit()
	for _, path := range missing {
		l.doubts.add(path)
	}
	if len(missing) > 0 {
		l.voice.once(mountsChanged, "first", l.tree.root.abs(topmost(missing)[0]))
	}
}
