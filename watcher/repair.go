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
	lagging     = 2 * time.Second // between the two scans after a loss
	repairRest  = 2               // a repair waits this many durations of the last one
	lossSayOnce = time.Minute     // losses closer together are one condition, logged once
)

// doubts is where events are missing, or were not kept apart.
type doubts struct {
	dirs   map[string]struct{} // at and below them no watch is trusted until a walk went over them
	lost   bool                // events were missing since the last repair of everything
	from   time.Time           // no repair begins before
	second time.Time           // second scan after a loss, zero when none is owed
	said   time.Time           // when a loss was last noticed

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
	if l.doubts.said.IsZero() || now.Sub(l.doubts.said) > lossSayOnce {
		if errors.Is(err, fsnotify.ErrEventOverflow) {
			err = fmt.Errorf("%w: %s", err, queueCure)
		}
		l.log.Warn("events were lost, the whole tree is scanned again", "err", err)
	}
	l.doubts.said = now
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
