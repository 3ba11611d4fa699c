package transport

// lane is the ordered calls of one session: each starts when the one before it is done, and none keeps a worker while
// it waits. It is guarded by inflight.mu.
type lane struct {
	head *call // waits for a worker or is worked on
	rest queue[*call]
}

// start serves a call in a goroutine of its own, now or when its turn comes. It reports whether something may be
// written now, because the call was refused instead.
func (f *inflight) start(c *call) (ready bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := c.batch; b != nil && b.spent {
		f.answerLocked(c, nil)
		return f.completeLocked(b)
	}
	if l := c.lane; l != nil {
		if l.head != nil {
			l.rest.push(&c.link, c)
			return false
		}
		l.head = c
	}
	f.waiting.push(&c.link, c)
	f.startLocked()
	return false
}

// keep makes a call the work of its caller, if nothing else is owed.
func (f *inflight) keep(c *call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owed != 1 || f.workers >= f.maxWorkers || f.phase >= phaseCut || c.state != accepted {
		return false
	}
	c.state = working
	f.workers++
	return true
}

func (f *inflight) startLocked() {
	for f.workers < f.maxWorkers && f.ready < f.maxReady && f.phase < phaseCut {
		c := f.turnLocked()
		if c == nil {
			return
		}
		c.state = working
		f.workers++
		go f.work(c)
	}
}

// turnLocked takes the call that is to be started next, nil if there is none.
func (f *inflight) turnLocked() *call {
	room := f.parked < f.maxParked
	if c, ok := f.behind.first(); ok && room {
		c.link.remove()
		return c
	}
	for {
		c, ok := f.waiting.first()
		if !ok {
			return nil
		}
		c.link.remove()
		if room || c.memory.of == nil {
			return c
		}
		f.behind.push(&c.link, c)
	}
}

// park runs what keeps a call waiting for memory. Meanwhile others are served in its place; afterwards it goes on at
// once, because it holds what others wait for.
func (f *inflight) park(wait func()) {
	f.mu.Lock()
	f.workers--
	f.parked++
	f.startLocked()
	f.mu.Unlock()
	wait()
	f.mu.Lock()
	f.workers++
	f.parked--
	f.startLocked()
	f.mu.Unlock()
}

// withdrawLocked takes an accepted call out of where it waits.
func (f *inflight) withdrawLocked(c *call) {
	c.link.remove()
	f.passLocked(c)
}

// passLocked gives the turn to the next of what is ordered, if it was the call's.
func (f *inflight) passLocked(c *call) {
	l := c.lane
	if l == nil || l.head != c {
		return
	}
	l.head = nil
	if next, ok := l.rest.first(); ok {
		next.link.remove()
		l.head = next
		f.waiting.push(&next.link, next)
	}
}

// retireLocked notes that the goroutine serving a call is done with it.
func (f *inflight) retireLocked(c *call) {
	f.workers--
	f.passLocked(c)
	f.startLocked()
	signal(f.idle)
}
