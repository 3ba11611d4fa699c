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
	p, err := w.barrier.enter()
	if err != nil {
		return err
	}
	select {
	case <-p.through:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passage is what callers of Sync share who came while the same mark was under way: the next one is theirs.
type passage struct {
	through chan struct{} // closed when all that happened before the mark is told
	err     error         // written before through is closed
}

// barrier tells when all has been read that happened before its callers came. To that end the source puts a mark behind it.
// One mark is under way at a time.
type barrier struct {
	wake chan struct{} // 1-buffered, never closed; sent to when there is something for the loop to do

	mu      sync.Mutex // guards what follows
	next    *passage   // of callers whose mark is still to be made
	out     *passage   // whose mark is under way
	name    string     // of the event that is the mark
	arrived bool       // the mark has been read, or what made it needless
	lost    bool       // a mark may still come that nobody waits for
	heard   bool       // a mark has ever come
	deaf    bool       // marks are made, and none ever came
	due     time.Time  // when what is out counts as arrived
	over    bool       // Run has ended
}

func newBarrier() *barrier { return &barrier{wake: make(chan struct{}, 1)} }

// enter returns the passage of those who come now.
func (b *barrier) enter() (*passage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil, errNotRunning
	}
	if b.next == nil {
		b.next = &passage{through: make(chan struct{})}
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
	if b.heard, b.deaf = true, false; b.out != nil && !b.arrived {
		b.arrived = true
		b.rouse()
	}
	return true
}

// lose notes that events are missing, and the mark may be one of them. The repair finds all that happened before now.
func (b *barrier) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out != nil && !b.arrived {
		b.arrived, b.lost = true, true
		b.rouse()
	}
}

// ready is when there is something for the loop to do, zero while only a mark can change that.
func (b *barrier) ready() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived || b.out == nil && b.next != nil {
		return time.Unix(0, 0)
	}
	return b.due
}

// mark has src, nil if there is none, make a mark for those who wait for one, unless there is one under way.
func (b *barrier) mark(src source, now time.Time) {
	b.mu.Lock()
	if b.out != nil || b.next == nil {
		b.mu.Unlock()
		return
	}
	b.out, b.next = b.next, nil
	lost := b.lost
	b.lost = false
	b.arrived = src == nil // nothing is on its way
	b.mu.Unlock()
	if src == nil {
		return
	}

	// Without the lock: the source may wait for its reader.
	name, err := src.Cookie(lost)
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

// take returns the passage whose mark has arrived, nil if none has.
func (b *barrier) take(now time.Time) *passage {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out == nil || !b.arrived && now.Before(b.due) {
		return nil
	}
	if !b.arrived {
		b.lost = true
		b.deaf = !b.heard
	}
	p := b.out
	b.out, b.arrived, b.due = nil, false, time.Time{}
	return p
}

// end lets go all who wait.
func (b *barrier) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for _, p := range []*passage{b.out, b.next} {
		if p != nil {
			p.err = errNotRunning
			close(p.through)
		}
	}
	b.out, b.next = nil, nil
}

// crossing is a passage whose mark has arrived. It is through when what was read before has been told.
type crossing struct {
	*passage
	taken  bool      // no window with what was read before the mark is open
	judged bool      // repair is known
	repair uint64    // so many repairs have ended when one has looked at what was in doubt
	told   time.Time // when the batch went out that has all but the second looks; zero before
}

// crossings are in the order of their marks.
type crossings []*crossing

// open reports whether a window is open that somebody waits for.
func (x crossings) open() bool { return len(x) > 0 && !x[len(x)-1].taken }

// admit makes marks and takes those that have arrived.
func (l *loop) admit(ctx context.Context, now time.Time) {
	if p := l.barrier.take(now); p != nil {
		l.crossings = append(l.crossings, &crossing{passage: p})
		l.rootCheck(ctx)  // no event tells if another directory took the root's place
		l.sweep.remount() // nor what is mounted or unmounted
	}
	l.barrier.mark(l.tree.watches.native, now)
}

// took notes that the window with all that was read before the marks is taken, or that there was none.
func (l *loop) took() {
	for _, c := range l.crossings {
		c.taken = true
	}
}

// letThrough ends the passages for which all is told. It is called when a batch has been emitted and answered.
func (l *loop) letThrough() {
	if len(l.crossings) == 0 {
		return
	}
	now := time.Now()
	oldest := l.looks.oldest()
	waiting := l.crossings[:0]
	for _, c := range l.crossings {
		if l.through(c, oldest, now) {
			close(c.through)
		} else {
			waiting = append(waiting, c)
		}
	}
	clear(l.crossings[len(waiting):])
	l.crossings = waiting
}

// through reports whether c is, while the oldest path that has its second look to come was first held at oldest.
func (l *loop) through(c *crossing, oldest, now time.Time) bool {
	if !c.taken {
		return false
	}
	if !c.judged {
		c.judged, c.repair = true, l.doubts.repairs
		if len(l.doubts.dirs) > 0 {
			c.repair++
		}
	}
	if l.doubts.repairs < c.repair {
		return false
	}
	if c.told.IsZero() {
		c.told = now
	}
	return oldest.IsZero() || oldest.After(c.told)
}

// abandon ends the passages that Run leaves behind.
func (l *loop) abandon() {
	for _, c := range l.crossings {
		c.err = errNotRunning
		close(c.through)
	}
	l.crossings = nil
}
