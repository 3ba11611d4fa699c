package watcher

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errNotRunning = errors.New("the watcher has ended")

const (
	// markMost is how long a mark may take: a full queue of the kernel is read in a third of it. Then it counts as arrived.
	markMost = time.Second
	// unmarked is what stands for a mark where the source makes none: an event is read, and its window closed, sooner.
	unmarked = most
)

// Sync returns when all that happened below the root before the call has been emitted, and answered by the consumer; that
// includes the second looks, so it may take a tenth of a second after a change. Nothing is waited for that is to be tried
// again later, such as [Reply.Retry]. The error is that of ctx, or says that Run has ended. Any goroutine may call it, but not emit.
func (w *Watcher) Sync(ctx context.Context) error {
	w.poller.probe(ctx)
	return w.barrier.wait(ctx)
}

// waiters are callers of Sync that share a mark: the next one, if they came while another was under way.
type waiters struct {
	done chan struct{} // closed when all that happened before the mark is told
	err  error         // written before done is closed
}

// letGo ends the wait of those whom Run leaves behind.
func (w *waiters) letGo() {
	if w != nil {
		w.err = errNotRunning
		close(w.done)
	}
}

// barrier tells when all has been read that happened before its callers came. To that end the source puts a mark behind it.
// One mark is under way at a time.
type barrier struct {
	wake chan struct{} // 1-buffered, never closed; sent to when there is something for the loop to do

	mu      sync.Mutex // guards what follows
	next    *waiters   // for whom a mark is still to be made
	marked  *waiters   // for whom one is under way
	name    string     // of the event that is the mark
	arrived bool       // the mark has been read, or what made it needless
	stray   bool       // a mark may still come that nobody waits for
	heard   bool       // a mark has ever come
	deaf    bool       // marks are made, and none ever came
	due     time.Time  // when the mark that is under way counts as arrived
	ended   bool       // Run has
}

func newBarrier() *barrier { return &barrier{wake: make(chan struct{}, 1)} }

// wait is Sync but for what is polled.
func (b *barrier) wait(ctx context.Context) error {
	w, err := b.join()
	if err != nil {
		return err
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns those who come now.
func (b *barrier) join() (*waiters, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return nil, errNotRunning
	}
	if b.next == nil {
		b.next = &waiters{done: make(chan struct{})}
		b.rouse()
	}
	return b.next, nil
}

func (b *barrier) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// read notes that all up to the event called name has been read, and reports whether that is the mark.
func (b *barrier) read(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name != b.name || name == "" {
		return false
	}
	if b.heard, b.deaf = true, false; b.marked != nil && !b.arrived {
		b.arrived = true
		b.rouse()
	}
	return true
}

// lose notes that events are missing, and the mark may be one of them. The repair finds all that happened before now.
func (b *barrier) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marked != nil && !b.arrived {
		b.arrived, b.stray = true, true
		b.rouse()
	}
}

// ready is when there is something for the loop to do, zero while only a mark can change that.
func (b *barrier) ready() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived || b.marked == nil && b.next != nil {
		return time.Unix(0, 0)
	}
	return b.due
}

// mark has src, nil if there is none, make a mark for those who wait for one, unless there is one under way.
func (b *barrier) mark(src source, now time.Time) {
	b.mu.Lock()
	if b.marked != nil || b.next == nil {
		b.mu.Unlock()
		return
	}
	b.marked, b.next = b.next, nil
	anew := b.stray
	b.stray = false
	if anew {
		b.name = "" // the mark that may still come must not be taken for this one before it has a name
	}
	b.arrived = src == nil // nothing is on its way
	b.mu.Unlock()
	if src == nil {
		return
	}

	// Without the lock: the source may wait for its reader.
	name, err := src.Cookie(anew)
	b.mu.Lock()
	b.name = name
	b.due = now.Add(markMost)
	deaf := b.deaf
	b.mu.Unlock()
	if err == nil {
		err = src.Mark()
	}
	if err != nil || deaf {
		b.mu.Lock()
		b.due = now.Add(unmarked)
		b.mu.Unlock()
	}
}

// take returns those whose mark has arrived, nil if none has.
func (b *barrier) take(now time.Time) *waiters {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marked == nil || !b.arrived && now.Before(b.due) {
		return nil
	}
	if !b.arrived {
		b.stray = true
		b.deaf = !b.heard
	}
	w := b.marked
	b.marked, b.arrived, b.due = nil, false, time.Time{}
	return w
}

// end lets go all who wait.
func (b *barrier) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	for _, w := range []*waiters{b.marked, b.next} {
		w.letGo()
	}
	b.marked, b.next = nil, nil
}
