package transport

import (
	"sync/atomic"
	"time"
)

// reliefTick is how often it is looked whether who reads is held up. It is relieved after one to two of them.
const reliefTick = time.Millisecond

// relief has somebody else read on where who reads does something meanwhile that turns out to take long. Such a moment is a
// loan: either who reads ends it in time, and reads on, or a tick does, and somebody else reads on, but never both.
type relief struct {
	read func() // run in a goroutine of its own

	loans   atomic.Uint64 // how often a loan has begun or ended: odd during one
	ticking atomic.Bool
	ended   atomic.Bool
	tick    *time.Timer
	seen    uint64 // loans at the last tick; belongs to check
}

func newRelief(read func()) *relief {
	r := &relief{read: read}
	r.tick = time.AfterFunc(time.Hour, r.check)
	r.tick.Stop()
	return r
}

// lend begins a loan: the caller, who reads, may be relieved from now on.
func (r *relief) lend() (loan uint64) {
	loan = r.loans.Add(1)
	r.watch()
	return loan
}

// back ends the loan, and reports whether the caller still reads.
func (r *relief) back(loan uint64) bool { return r.loans.CompareAndSwap(loan, loan+1) }

// end has nobody relieved any more.
func (r *relief) end() {
	r.ended.Store(true)
	r.tick.Stop()
}

// watch has it looked whether the reader is held up, as long as there are loans.
func (r *relief) watch() {
	if !r.ticking.Load() && r.ticking.CompareAndSwap(false, true) {
		r.tick.Reset(reliefTick)
	}
}

// check relieves who has not come back since the last tick. Nothing ticks once nothing has happened in between.
func (r *relief) check() {
	if r.ended.Load() {
		return
	}
	loans := r.loans.Load()
	stirred := loans != r.seen
	if lent := loans%2 == 1; lent && !stirred && r.loans.CompareAndSwap(loans, loans+1) {
		loans, stirred = loans+1, true
		go r.read()
	}
	r.seen = loans
	if stirred || loans%2 == 1 {
		r.tick.Reset(reliefTick)
		return
	}
	r.ticking.Store(false)
	if r.loans.Load() != loans { // whoever began a loan meanwhile may have seen it ticking
		r.watch()
	}
}
