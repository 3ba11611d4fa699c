package transport

import (
	"math"
	"time"
)

// pace is how the output moves. It is guarded by writer.mu.
type pace struct {
	giving int       // bytes of the piece that is on its way, 0 if there is none
	moved  time.Time // when the last piece was taken or, if one is on its way, that began

	// What is not written by limit is given up, if that is set. Since the time it was set taken bytes were taken in pieces
	// that are not small, which the output needed busy for. A small one may wait as long, so that it says nothing of bytes.
	limit time.Time
	since time.Time
	taken int
	busy  time.Duration
}

// give notes that a piece is taken, and that a further one of so many bytes is on its way, none if that is 0.
func (w *writer) give(size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, now := &w.pace, time.Now()
	if p.giving >= leavingPiece && !p.limit.IsZero() {
		p.taken += p.giving
		p.busy += now.Sub(latest(p.moved, p.since))
	}
	p.giving, p.moved = size, now
}

// progress returns when the output last moved, and whether it is to take something.
func (w *writer) progress() (moved time.Time, blocked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace.moved, w.pace.giving > 0
}

// hurry says when the rest is given up.
func (w *writer) hurry(now, limit time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace.since, w.pace.limit = now, limit
}

// room is how many bytes of frames may be begun so that none is cut by the limit: what the output takes until then at half
// the pace it has shown since there is one, or anything while it has shown none.
func (w *writer) room(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.pace
	left := p.limit.Sub(now)
	switch {
	case p.limit.IsZero():
		return math.MaxInt
	case left <= 0:
		return 0
	case p.busy <= 0:
		return math.MaxInt
	}
	return int(min(float64(p.taken)*left.Seconds()/p.busy.Seconds()/2, math.MaxInt32))
}
