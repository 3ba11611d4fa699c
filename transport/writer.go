package transport

import (
	"container/heap"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// burst is how many bytes of ready frames are put into one write. What is in a write can no longer be cancelled, so it
// is kept well below the buffer of a pipe.
const burst = 32 << 10

// piece is how many bytes are given to the output at a time, so that it shows when some are taken. At the end, when that
// matters, it is leavingPiece: what a pipe takes as a whole. The one that is on its way when the end begins must not take
// a slow reader long either: with 16 KiB a pipe moves 4 GB/s, with 64 KiB 5, with 4 KiB 2.
const (
	piece        = 16 << 10
	leavingPiece = 4 << 10
)

// writer writes frames to the output. It asks for an answer or a stream's next frame immediately before writing it, in turns, so
// that neither a busy stream nor a busy client holds up the others.
type writer struct {
	out io.Writer
	f   *inflight

	// gate is held from before a frame is asked for until it is written, by run, by who helps, and by whoever else writes to the
	// output: what is cancelled while one waits for the other is not said.
	gate baton

	// wake is signalled, with a buffer of 1, when there may be something to do. It is never closed.
	wake chan struct{}

	// last says that nobody waits for run any more: no further write is begun.
	last atomic.Bool

	// leaving says that progress of the output is watched.
	leaving atomic.Bool

	mu    sync.Mutex
	ready queue[*carrier] // streams that may have a frame; guarded by mu
	pace  pace            // guarded by mu

	// The rest belongs to whoever holds the gate.
	failed error // of the output
	ended  bool  // run is over, or about to be: what comes later would be cut
	buf    []byte
	timers timers[*carrier]
}

func newWriter(out io.Writer, f *inflight) *writer {
	return &writer{out: out, f: f, gate: make(baton, 1), wake: make(chan struct{}, 1)}
}

// run writes until the output fails, or until nothing is owed after the end.
func (w *writer) run() error {
	var timer *time.Timer
	for {
		// Whoever woke the writer is often one of many: let the others finish, so that one write takes all.
		runtime.Gosched()
		t := w.turn()
		if t.err != nil {
			return t.err
		}
		if t.wrote {
			continue
		}
		if t.over {
			return nil
		}
		if t.due.IsZero() {
			<-w.wake
			continue
		}
		wait := time.Until(t.due)
		if timer == nil {
			timer = time.NewTimer(wait)
			defer timer.Stop()
		} else {
			timer.Reset(wait)
		}
		select {
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// help takes a turn in place of run, unless somebody else has one, and reports whether that leaves nothing to do. Otherwise run
// is told. It does not wait for its turn: what it would write may be cancelled, and then more would wait than there are answers.
func (w *writer) help() (done bool) {
	if !w.gate.TryLock() {
		signal(w.wake)
		return false
	}
	t := w.turnLocked()
	w.gate.Unlock()
	if t.err != nil || t.over || !t.due.IsZero() || w.pending() {
		signal(w.wake)
		return false
	}
	return true
}

// pending reports whether something may be written now.
func (w *writer) pending() bool {
	w.mu.Lock()
	_, ready := w.ready.first()
	w.mu.Unlock()
	return ready || w.f.unwritten()
}

// outcome is what a turn has come to.
type outcome struct {
	wrote bool
	over  bool      // nothing will ever have to be written again
	due   time.Time // when a stream may have something to say, zero if none has to wait
	err   error     // of the output: nothing can be written any more
}

// turn is a step, in turn with whoever else writes.
func (w *writer) turn() (t outcome) {
	w.gate.Lock()
	defer w.gate.Unlock()
	return w.turnLocked()
}

func (w *writer) turnLocked() (t outcome) {
	if w.failed == nil && !w.ended {
		t.wrote, w.failed = w.step(time.Now())
	}
	t.err = w.failed
	t.over = w.f.drained()
	w.ended = t.over && !t.wrote
	if len(w.timers) > 0 {
		t.due = w.timers[0].due
	}
	return t
}

// step writes what is ready: at most one large answer and, after it, at most one write of small frames. It reports
// whether there was something to write.
func (w *writer) step(now time.Time) (wrote bool, err error) {
	w.expire(now)
	if cap(w.buf) > 4*burst {
		w.buf = nil
	}
	w.buf = w.buf[:0]
	room := w.room(now)
	for !wrote && len(w.buf) < min(burst, room) {
		most := room
		if len(w.buf) > 0 {
			most = min(burst-1, room-len(w.buf))
		}
		c, s := w.f.next(most), w.nextStream()
		if c == nil && s == nil {
			break
		}
		if c != nil {
			if wrote, err = w.appendAnswer(c); err != nil {
				return wrote, err
			}
			if wrote {
				now = time.Now()
			}
		}
		// Also after a large answer, or a client that asks for those would silence every stream.
		if s != nil {
			w.pull(s, now)
		}
	}
	if len(w.buf) == 0 {
		return wrote, nil
	}
	return true, w.flush()
}

// nextStream takes the stream that is to be asked next, nil if there is none.
func (w *writer) nextStream() *carrier {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.ready.first()
	if ok {
		s.link.remove()
	}
	return s
}

// appendAnswer puts an answer into the buffer. A large one, for which the buffer must be empty, is written instead.
func (w *writer) appendAnswer(c *call) (wrote bool, err error) {
	if c.batch != nil {
		return w.appendBatch(c.batch)
	}
	if c.opens != nil {
		defer w.unmute(c.opens)
	}
	defer c.memory.release()
	if len(*c.frame) >= burst {
		err = w.write(append(*c.frame, '\n'))
		c.frame = nil
		return true, err
	}
	w.buf = append(append(w.buf, *c.frame...), '\n')
	recycle(c.frame)
	return false, nil
}

// appendBatch does the same with the answers of a batch, which are one message. It does not put a large message
// together, but writes it piece by piece.
func (w *writer) appendBatch(b *batch) (wrote bool, err error) {
	for i, c := range b.calls {
		w.buf = append(w.buf, "[,"[min(i, 1)])
		large := c.size() >= burst
		switch {
		case c.frame == nil:
			w.buf = appendError(w.buf, c.id, errBatchTooLarge)
		case !large:
			w.buf = append(w.buf, *c.frame...)
			recycle(c.frame)
		}
		if large || len(w.buf) >= burst {
			wrote = true
			err = w.flush()
		}
		if large && err == nil {
			err = w.write(*c.frame)
		}
		if err != nil {
			return wrote, err
		}
		c.frame = nil
	}
	w.buf = append(w.buf, ']', '\n')
	return wrote, nil
}

func (w *writer) flush() error {
	err := w.write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *writer) write(p []byte) error {
	for len(p) > 0 {
		if w.last.Load() {
			return errLeaving
		}
		n := min(len(p), piece)
		if w.leaving.Load() {
			n = min(n, leavingPiece)
		}
		w.give(n)
		if _, err := w.out.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	w.give(0)
	return nil
}

// pull puts a stream's next frame into the buffer, or notes when to ask again.
func (w *writer) pull(s *carrier, now time.Time) {
	if s.timer >= 0 {
		heap.Remove(&w.timers, s.timer)
	}
	frame, wait := s.stream.Next(w.buf, now)
	switch {
	case frame != nil:
		w.buf = append(frame, '\n')
		if s.call != nil && s.stream.Finished() {
			// The client may use the id again as soon as it has this.
			w.f.free(s.call)
		}
		w.push(s)
	case wait == listen.Over:
		w.f.forget(s)
	case wait > 0:
		s.due = now.Add(wait)
		heap.Push(&w.timers, s)
	}
}

// expire makes the streams ready whose pace allows it now.
func (w *writer) expire(now time.Time) {
	for len(w.timers) > 0 && !w.timers[0].due.After(now) {
		w.push(heap.Pop(&w.timers).(*carrier))
	}
}

// push makes a stream ready, unless it is to keep silent.
func (w *writer) push(s *carrier) {
	w.mu.Lock()
	if !s.mute && !s.link.queued() {
		w.ready.push(&s.link, s)
	}
	w.mu.Unlock()
	signal(w.wake)
}

// unmute lets a stream speak. It is asked for what it had to say meanwhile.
func (w *writer) unmute(s *carrier) {
	w.mu.Lock()
	s.mute = false
	w.mu.Unlock()
	w.push(s)
}

// discard lets go of a stream that was cancelled, however long a write keeps the writer from asking it.
func (w *writer) discard(s *carrier) {
	w.mu.Lock()
	s.mute = true
	s.link.remove()
	w.mu.Unlock()
}

// carrier takes the frames of one stream to the writer.
type carrier struct {
	w      *writer
	call   *call          // the listen, nil for the stream of a legacy session
	stream *listen.Stream // set before unmute

	// Guarded by writer.mu.
	link link[*carrier] // in writer.ready
	mute bool           // wakes are ignored

	alarm // in writer.timers, owned by whoever holds writer.gate
}

// newCarrier makes a carrier that keeps silent until unmute.
func (w *writer) newCarrier(c *call) *carrier {
	return &carrier{w: w, call: c, mute: true, alarm: alarm{timer: -1}}
}

// Wake implements [listen.Carrier].
func (s *carrier) Wake(*listen.Stream) { s.w.push(s) }
