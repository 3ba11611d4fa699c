package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	rootEvery   = 2 * time.Second  // between checks that the root is still the directory that is watched
	slowEvery   = 10 * time.Second // between scans of directories without a watch, and no less than slowRest times their duration
	slowRest    = 10
	lagging     = 2 * time.Second // between the two scans after a loss
	repairRest  = 2               // a repair waits this many durations of the last one
	lossSayOnce = time.Minute     // losses closer together are one condition, logged once
)

var errEnded = errors.New("watch: the event source ended")

// loop is the goroutine of Run: it alone changes watches, and it calls emit.
type loop struct {
	pump *pump
	tree *tree
	emit func(Batch) Reply
	log  *slog.Logger

	settle  settle
	looks   looks
	retries retries
	batch   draft

	doubted    map[string]struct{} // directories at and below which no watch is trusted until a walk went over them
	repairFrom time.Time           // no repair begins before
	lossSaid   time.Time           // when a loss was last noticed
	lost       bool                // events were missing since the last repair of everything

	second    time.Time // second scan after a loss, zero when none is owed
	checkRoot time.Time
	slow      time.Time // next slow scan, zero when every directory is watched
}

// run returns when ctx ends, or when done says that the source did.
func (l *loop) run(ctx context.Context, done <-chan struct{}) error {
	l.repairFrom = time.Now()
	l.checkRoot = l.repairFrom.Add(jitter(rootEvery))
	l.reconcile(ctx, []string{""})
	l.batch.rescan = append(l.batch.rescan, "")
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.send(ctx)
		if ctx.Err() != nil {
			return nil
		}
		timer.Reset(time.Until(l.next()))
		select {
		case <-ctx.Done():
			return nil
		case <-done:
			return errEnded
		case <-l.pump.wake:
		case <-timer.C:
			l.turn(ctx)
		}
	}
}

// next is when there is something to do if no event comes.
func (l *loop) next() time.Time {
	t := earliest(l.pump.due(&l.settle), l.checkRoot, l.looks.next, l.retries.next, l.second, l.slow)
	if len(l.doubted) > 0 {
		t = earliest(t, l.repairFrom)
	}
	return t
}

// turn does all that is due. What appears while it does is for the next turn.
func (l *loop) turn(ctx context.Context) {
	now := time.Now()
	if due := l.pump.due(&l.settle); !due.IsZero() && !now.Before(due) {
		h := l.pump.take()
		l.settle.close(&h, now)
		l.window(ctx, h, now)
	}
	l.batch.rescan = append(l.batch.rescan, l.retries.due(now)...)
	if len(l.doubted) > 0 && !now.Before(l.repairFrom) {
		l.repair(ctx)
	}
	if !l.second.IsZero() && !now.Before(l.second) {
		l.second = time.Time{}
		l.batch.rescan = append(l.batch.rescan, "")
	}
	if !now.Before(l.checkRoot) {
		l.checkRoot = now.Add(jitter(rootEvery))
		l.rootCheck()
	}
	if !l.slow.IsZero() && !now.Before(l.slow) {
		l.scanSlowly(ctx)
	}
	l.lookAgain(time.Now()) // last: a walk takes its time, and what was settled before need not be after
}

// lose has everything looked at again.
func (l *loop) lose(err error, now time.Time) {
	if l.lossSaid.IsZero() || now.Sub(l.lossSaid) > lossSayOnce {
		if errors.Is(err, fsnotify.ErrEventOverflow) {
			err = fmt.Errorf("%w: %s", err, queueCure)
		}
		l.log.Warn("events were lost, the whole tree is scanned again", "err", err)
	}
	l.lossSaid = now
	l.lost = true
	l.doubt("")
}

func (l *loop) doubt(path string) {
	if l.doubted == nil {
		l.doubted = map[string]struct{}{}
	}
	l.doubted[path] = struct{}{}
}

// reconcile makes the watches at and below dirs right and adds to the batch what has to be listed again.
func (l *loop) reconcile(ctx context.Context, dirs []string) {
	if len(dirs) > 0 || len(l.tree.dirs.twins) > 0 {
		l.absorb(l.tree.reconcile(ctx, dirs, false))
	}
}

func (l *loop) absorb(fresh []string) {
	l.batch.rescan = append(l.batch.rescan, fresh...)
	if len(l.tree.dirs.slow) > 0 && l.slow.IsZero() {
		l.slow = time.Now().Add(jitter(slowEvery))
	}
}

// repair walks what is in doubt. What becomes doubtful meanwhile needs another repair: this one may have been too early for it.
func (l *loop) repair(ctx context.Context) {
	dirs := slices.Collect(maps.Keys(l.doubted))
	_, all := l.doubted[""]
	lost := l.lost
	l.doubted, l.lost = nil, false
	start := time.Now()
	l.absorb(l.tree.reconcile(ctx, dirs, true))
	if all {
		l.reconcile(ctx, l.tree.audit())
	}
	l.batch.rescan = append(l.batch.rescan, dirs...)
	l.send(ctx)
	end := time.Now()
	l.repairFrom = end.Add(repairRest * end.Sub(start))
	if lost {
		l.second = end.Add(lagging)
	}
}

// rootCheck asks what no event tells: whether an ancestor was moved, or something new is at the root's path.
func (l *loop) rootCheck() {
	s, err := l.tree.stat("")
	there := err == nil && s.dir
	n := l.tree.dirs.byPath[""]
	if n == nil && there || n != nil && !n.left && (!there || s.id != n.id) {
		l.pump.merge("", Structure)
	}
}

// scanSlowly makes up for watches that could not be had, and tries for them again.
func (l *loop) scanSlowly(ctx context.Context) {
	l.slow = time.Time{}
	start := time.Now()
	l.tree.full = false
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

// send emits the batch, and then whatever its consumer lets through that was skipped before.
func (l *loop) send(ctx context.Context) {
	for ctx.Err() == nil {
		b := l.batch.finish()
		if len(b.Dirty)+len(b.Rescan) == 0 {
			return
		}
		r := l.emit(b)
		now := time.Now()
		l.looks.expect(r.Unsettled, now)
		l.retries.answer(r.Retry, now)
		l.reconcile(ctx, r.Rewalk)
	}
}

// jitter spreads d by a tenth, so that several watchers do not scan in step.
func jitter(d time.Duration) time.Duration {
	return d - d/20 + rand.N(d/10)
}
