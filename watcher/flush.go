package watcher

import (
	"context"
	"time"
)

// flush is the way of what was read before a mark that has arrived, for those who wait: through the window that has it, the repair of
// what is in doubt, and second looks.
type flush struct {
	*waiters
	windowed bool      // no window with what was read before the mark is open
	reckoned bool      // repair is known
	repair   uint64    // so many repairs have ended when one has looked at what was in doubt
	toldAt   time.Time // when the batch went out that has all but the second looks; zero before
}

// flushes are in the order of their marks.
type flushes []*flush

// awaitWindow reports whether a window is open that somebody waits for.
func (f flushes) awaitWindow() bool { return len(f) > 0 && !f[len(f)-1].windowed }

// takeMarks begins the flushes of marks that have arrived, and makes the next mark.
func (l *loop) takeMarks(ctx context.Context, now time.Time) {
	if w := l.barrier.take(now); w != nil {
		l.flushes = append(l.flushes, &flush{waiters: w})
		l.rootCheck(ctx)  // no event tells if another directory took the root's place
		l.sweep.remount() // nor what is mounted or unmounted
	}
	l.barrier.mark(l.tree.watches.native, now)
}

// windowTaken notes that the window with all that was read before the marks is taken, or that there was none.
func (l *loop) windowTaken() {
	for _, f := range l.flushes {
		f.windowed = true
	}
}

// endFlushes lets go those for whom all is told. It is called when a batch has been emitted and answered.
func (l *loop) endFlushes() {
	if len(l.flushes) == 0 {
		return
	}
	now := time.Now()
	oldest := l.looks.oldest()
	left := l.flushes[:0]
	for _, f := range l.flushes {
		if l.told(f, oldest, now) {
			close(f.done)
		} else {
			left = append(left, f)
		}
	}
	clear(l.flushes[len(left):])
	l.flushes = left
}

// told reports whether f is at its end, while the oldest path that has its second look to come was first held at oldest.
func (l *loop) told(f *flush, oldest, now time.Time) bool {
	if !f.windowed {
		return false
	}
	if !f.reckoned {
		f.reckoned, f.repair = true, l.doubts.repairs
		if len(l.doubts.dirs) > 0 {
			f.repair++
		}
	}
	if l.doubts.repairs < f.repair {
		return false
	}
	if f.toldAt.IsZero() {
		f.toldAt = now
	}
	return oldest.IsZero() || oldest.After(f.toldAt)
}

// abandonFlushes is for when Run ends.
func (l *loop) abandonFlushes() {
	for _, f := range l.flushes {
		f.letGo()
	}
	l.flushes = nil
}
