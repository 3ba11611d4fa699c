package transport

import (
	"math"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// store keeps the answer to a call until it is written. It reports whether something may be written now.
func (f *inflight) store(c *call, frame *[]byte) (ready bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.state == silenced || f.phase == phaseGone {
		c.memory.release()
		f.dismissLocked(c)
		return false
	}
	f.stored = time.Now()
	if c.state == working {
		defer f.retireLocked(c)
	}
	b := c.batch
	if b == nil {
		f.answerLocked(c, frame)
		f.ready += c.size()
		f.answers.push(&c.link, c)
		return true
	}
	if max(f.partial, f.whole) >= f.maxPartial {
		f.spendLocked(b)
	}
	// What is no longer than a refusal need not be replaced by one.
	const short = 1 << 10
	if b.spent && len(*frame) > short {
		frame = nil
	}
	f.answerLocked(c, frame)
	f.partial += c.size()
	return f.completeLocked(b)
}

// answerLocked gives a call its answer and lets go of what it asked.
func (f *inflight) answerLocked(c *call, frame *[]byte) {
	c.msg, c.req = jsonrpc.Message{}, request{}
	c.state = answered
	c.frame = frame
	if c.batch != nil {
		c.memory.release() // partial counts it from here on: a batch must not wait for memory that it holds itself
	}
}

// next takes the answer that is to be written next and forgets the call, or all calls of the batch: that which has waited
// longest of those of at most so many bytes. It returns nil if there is none.
func (f *inflight) next(most int) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nextLocked(most)
}

func (f *inflight) nextLocked(most int) *call {
	for c := range f.answers.all() {
		place, together := &c.link, []*call{c}
		if b := c.batch; b != nil {
			place, together = &b.link, b.calls
		}
		size := 0
		for _, c := range together {
			size += c.size()
		}
		if size > most {
			continue
		}
		for _, c := range together {
			f.takeLocked(c)
		}
		place.remove()
		f.startLocked()
		return c
	}
	return nil
}

// unwritten reports whether an answer waits to be written.
func (f *inflight) unwritten() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, waits := f.answers.first()
	return waits
}

func (f *inflight) takeLocked(c *call) {
	f.unlistLocked(c)
	f.owed--
	f.discountLocked(c)
	f.dismissLocked(c)
}

// discountLocked takes an answer that waits out of the counts.
func (f *inflight) discountLocked(c *call) {
	switch n := c.size(); {
	case c.batch == nil:
		f.ready -= n
	case c.batch.link.queued():
		f.ready -= n
		f.whole -= n
	default:
		f.partial -= n
	}
}

// drop lets go of the answers that nobody will write.
func (f *inflight) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := f.nextLocked(math.MaxInt); c != nil; c = f.nextLocked(math.MaxInt) {
		c.memory.release()
	}
}
