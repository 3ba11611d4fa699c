package watcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

var errEnded = errors.New("watch: the event source ended")

// loop is the goroutine of Run: it alone changes watches, and it calls emit.
type loop struct {
	pump  *pump
	tree  *tree
	net   *net
	sweep *sweep
	emit  func(Batch) Reply
	voice *voice

	barrier *barrier
	flushes flushes

	settle  settle
	looks   looks
	retries retries
	batch   draft
	doubts  doubts

	presence    presence
	rootChanged bool // the root was not what is known when it was last checked, and no window has come since
	checkRoot   time.Time
	slow        time.Time // next slow scan, zero when every directory is watched
}

// run returns when ctx ends, or when done says that the source did.
func (l *loop) run(ctx context.Context, done <-chan struct{}) error {
	l.doubts.from = time.Now()
	l.checkRoot = l.doubts.from.Add(jitter(rootEvery))
	l.reconcile(ctx, []string{""})
	l.batch.rescan = append(l.batch.rescan, "")
	if l.tree.dirs.byPath[""] == nil {
		l.presence = absent // whoever starts a watcher looks whether there is something to watch
	}
	l.tellPresence(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer l.abandonFlushes()
	for {
		l.send(ctx)
		if ctx.Err() != nil {
			return nil
		}
		l.tree.tellClosed()
		l.endFlushes()
		timer.Reset(time.Until(l.next()))
		select {
		case <-ctx.Done():
			return nil
		case <-done:
			return errEnded
		case <-l.pump.wake:
		case <-l.barrier.wake:
		case <-timer.C:
			l.turn(ctx)
		}
	}
}

// next is when there is something to do if no event comes.
func (l *loop) next() time.Time {
	return earliest(l.barrier.ready(), l.pump.due(&l.settle, l.flushes.awaitWindow()), l.retries.next, l.doubts.next(), l.doubts.second,
		l.doubts.over, l.checkRoot, l.slow, l.tree.watches.handover.next, l.looks.next)
}

// turn does all that is due. What appears while it does is for the next turn.
func (l *loop) turn(ctx context.Context) {
	now := time.Now()
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	l.takeMarks(ctx, now)
	window := l.pump.due(&l.settle, l.flushes.awaitWindow())
	if window.IsZero() || due(window) {
		l.windowTaken()
	}
	if due(window) {
		h := l.pump.take()
		l.settle.close(&h, now)
		l.window(ctx, h, now)
	}
	l.batch.rescan = append(l.batch.rescan, l.retries.due(now)...)
	if due(l.doubts.next()) {
		l.repair(ctx)
	}
	if due(l.doubts.second) {
		l.doubts.second = time.Time{}
		l.batch.rescan = append(l.batch.rescan, "")
	}
	if due(l.doubts.over) {
		l.doubts.over = time.Time{}
		l.voice.ends(lossEnds)
	}
	if due(l.checkRoot) {
		l.checkRoot = now.Add(jitter(rootEvery))
		l.rootCheck(ctx)
		l.net.rouse()
		l.sweep.rouse()
	}
	if due(l.tree.watches.handover.next) {
		l.tree.watches.handOver()
	}
	if due(l.slow) {
		l.scanSlowly(ctx)
	}
	l.lookAgain(time.Now()) // last: a walk takes its time, and what was settled before need not be after
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

// send emits the batch, and then whatever its consumer lets through that was skipped before.
func (l *loop) send(ctx context.Context) {
	for ctx.Err() == nil {
		l.mirror()
		b := l.batch.finish()
		if len(b.Dirty)+len(b.Rescan) == 0 {
			return
		}
		l.voice.stats.batch(b)
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
