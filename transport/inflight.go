package transport

import (
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// inflight knows what is owed to one client, bounds it, and decides what a cancellation reaches.
type inflight struct {
	// maxWorkers is how many calls are worked on at a time.
	maxWorkers int
	// maxWeight is how many bytes of calls are in flight before no more are accepted.
	maxWeight int
	// maxReady is how many bytes of answers may wait for the output before no further work is started. It is some
	// bursts: more would only take memory.
	maxReady int
	// maxPartial is how many bytes of answers to batches may wait for the rest of their batches, and how many in whole
	// batches for the output. Neither holds memory of what reads share, so that more reads would go on for ever.
	maxPartial int
	// maxParked is how many calls may wait for memory before no further reads are started: each has its file open.
	maxParked int
	// work serves a call. It is run in a goroutine of its own, unless the call is kept.
	work func(*call)

	// room is signalled, with a buffer of 1, when full may have become false. It is never closed.
	room chan struct{}
	// idle is signalled, with a buffer of 1, when resting may have become true. It is never closed.
	idle chan struct{}

	mu      sync.Mutex
	phase   phase
	calls   map[string]*call      // by id key: what a cancellation can reach
	streams map[*carrier]struct{} // those open, of legacy sessions too
	waiting queue[*call]          // for a worker
	behind  queue[*call]          // reads that were first among those, and wait until fewer wait for memory
	answers queue[*call]          // to be written; a batch is there once, by its own link
	workers int                   // goroutines serving calls, cancelled ones too
	parked  int                   // goroutines that wait for memory instead
	owed    int                   // calls that are accepted, working or answered
	weight  int                   // bytes of calls in flight
	ready   int                   // bytes of answers to be written
	whole   int                   // those of them that are in batches
	partial int                   // bytes of answers that wait for the rest of their batches
	stored  time.Time             // when a call was last answered
}

// phase is how far the end has come. It only grows.
type phase uint8

const (
	phaseOpen   phase = iota
	phaseEnding       // streams are completed; what was read before the input's end is still accepted
	phaseClosed       // nothing more is accepted, only cancelled
	phaseCut          // what is not answered yet never will be
	phaseGone         // nothing is written any more
)

func newInflight(maxWorkers int, work func(*call)) *inflight {
	return &inflight{
		maxWorkers: maxWorkers,
		maxWeight:  16 << 20,
		maxReady:   8 * burst,
		maxPartial: 64 << 20,
		maxParked:  4 * maxWorkers,
		work:       work,
		room:       make(chan struct{}, 1),
		idle:       make(chan struct{}, 1),
		calls:      map[string]*call{},
		streams:    map[*carrier]struct{}{},
	}
}

// full reports whether the next calls have to wait.
func (f *inflight) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.weight >= f.maxWeight && f.phase < phaseClosed
}

var errDuplicateID = jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: a request with this id is in flight, use another id until it is answered")

// admit accepts calls, all or, after the end, none. It refuses those whose id is in flight.
func (f *inflight) admit(calls ...*call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase >= phaseClosed {
		return false
	}
	for _, c := range calls {
		if c.refusal == nil {
			// "The request ID MUST NOT match the ID of any other request the sender has issued and not yet received a
			// response for" (basic/index, "Requests").
			if _, taken := f.calls[c.id.Key()]; taken {
				c.refusal = errDuplicateID
			} else {
				f.calls[c.id.Key()] = c
			}
		}
		f.owed++
		f.weight += c.weight
	}
	return true
}

// has reports whether a call with an id is in flight.
func (f *inflight) has(id jsonrpc.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[id.Key()] != nil
}

// open adds a stream, that of a legacy session or, if it has a call, that of a listen. ok is false if it is not wanted
// any more: its listen was cancelled, or the end is past. Its call is then still in flight, until decline. If finish is
// set the end has begun, and the stream is to be completed.
func (f *inflight) open(s *carrier) (ok, finish bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := s.call
	if f.phase >= phaseCut || c != nil && c.state != working {
		return false, false
	}
	if c != nil {
		f.owed--
		f.dismissLocked(c)
		c.state = listening
		c.stream = s
	}
	f.streams[s] = struct{}{}
	return true, f.phase >= phaseEnding
}

// decline ends the call of a listen whose stream was not wanted, and is over: whoever waits for the work may leave then.
func (f *inflight) decline(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.state == working {
		f.owed--
	}
	f.dismissLocked(c)
	f.unlistLocked(c)
}

// forget removes a stream that is over, with the id of its listen.
func (f *inflight) forget(s *carrier) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, s)
	if s.call != nil {
		f.freeLocked(s.call)
	}
}

// free makes the id of a listen usable again: its completion result is about to be written.
func (f *inflight) free(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.freeLocked(c)
}

func (f *inflight) freeLocked(c *call) {
	c.state = gone
	f.unlistLocked(c)
}

func (f *inflight) unlistLocked(c *call) {
	if key := c.id.Key(); f.calls[key] == c {
		delete(f.calls, key)
	}
}

// cancel ends the call with an id: from now on nothing is sent for it. It returns the stream of a listen, to be
// cancelled too. Unknown ids are ignored, and "The initialize request MUST NOT be cancelled by clients".
func (f *inflight) cancel(id jsonrpc.ID) *carrier {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[id.Key()]
	if c == nil || c.opens != nil {
		return nil
	}
	f.unlistLocked(c)
	if c.ctx.Context != nil {
		c.ctx.stop(nil)
	}
	if c.state == listening {
		c.state = gone
		delete(f.streams, c.stream)
		return c.stream
	}
	f.owed--
	switch c.state {
	case accepted:
		f.withdrawLocked(c)
		f.dismissLocked(c)
	case working: // dismissed when its goroutine is done
		c.state = silenced
	case answered:
		c.link.remove()
		f.discountLocked(c)
		c.frame = nil
		c.memory.release()
		f.dismissLocked(c)
	}
	if b := c.batch; b != nil {
		f.leaveBatchLocked(b, c)
	}
	f.startLocked()
	return nil
}

// dismissLocked ends a call's time in flight.
func (f *inflight) dismissLocked(c *call) {
	if c.state == working || c.state == silenced {
		f.retireLocked(c)
	}
	c.msg, c.req = jsonrpc.Message{}, request{}
	c.state = gone
	f.weight -= c.weight
	c.weight = 0
	signal(f.room)
}

// advance says how far the end has come and returns the streams that are open, to be completed or cancelled.
func (f *inflight) advance(to phase) []*carrier {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.phase = max(f.phase, to)
	signal(f.room)
	signal(f.idle)
	open := make([]*carrier, 0, len(f.streams))
	for s := range f.streams {
		open = append(open, s)
	}
	return open
}

// lastAnswer is when a call was last answered.
func (f *inflight) lastAnswer() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stored
}

// over reports whether nothing is written any more, so that nothing need be read either.
func (f *inflight) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.phase == phaseGone
}

// drained reports whether nothing will ever have to be written again.
func (f *inflight) drained() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.phase >= phaseCut || f.phase == phaseClosed && f.owed == 0 && len(f.streams) == 0
}

// resting reports whether no call is or will be worked on.
func (f *inflight) resting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.phase >= phaseCut && f.workers+f.parked == 0
}

// signal wakes who waits for a channel with a buffer of 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
