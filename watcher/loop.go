package watcher

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

var errEnded = errors.New("watch: the event source ended")

// loop is the goroutine of Run: it alone changes watches, and it calls emit.
type loop struct {
	pump *pump
	tree *tree
	net  *net
	emit func(Batch) Reply
	log  *slog.Logger

	settle  settle
	looks   looks
	retries retries
	batch   draft
	doubts  doubts

	checkRoot time.Time
	slow      time.Time // next slow scan, zero when every directory is watched
}

// run returns when ctx ends, or when done says that the source did.
func (l *loop) run(ctx context.Context, done <-chan struct{}) error {
	l.doubts.from = time.Now()
	l.checkRoot = l.doubts.from.Add(jitter(rootEvery))
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
	return earliest(l.pump.due(&l.settle), l.retries.next, l.doubts.next(), l.doubts.second, l.checkRoot, l.slow, l.tree.watches.handover.next, l.looks.next)
}

// turn does all that is due. What appears while it does is for the next turn.
func (l *loop) turn(ctx context.Context) {
	now := time.Now()
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	if due(l.pump.due(&l.settle)) {
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
	if due(l.checkRoot) {
		l.checkRoot = now.Add(jitter(rootEvery))
		l.rootCheck()
		l.net.rouse()
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
