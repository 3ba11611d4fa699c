package watcher

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// Between rounds of Options.Look are lookEvery, or lookRest times what one takes, but no more than lookLate: a disk that
	// did not answer for a minute is looked at again when it does.
	lookEvery  = 1250 * time.Millisecond
	lookPolled = 400 * time.Millisecond // instead of lookEvery while there are directories without events
	lookRest   = 10
	lookLate   = 30 * time.Second
	lookMost   = 10_000 // files in a round, some 20 ms

	// nameMost paths in burstSpan are what a round names. It can find thousands, after a copy of a tree by hard links: all
	// at once they would be a burst, in which a save waits, and beyond maxPaths whole directories would be looked through.
	nameMost = burstPaths / 2

	// eventsFirst is how long the event of what a look came upon may take. It names the path first then, and a write that was
	// on its way is not told of twice.
	eventsFirst = 50 * time.Millisecond
)

// net catches what gives no event. It has a goroutine of its own, so that a disk which answers slowly holds up no event.
type net struct {
	look  func(ctx context.Context, most int) (changed []string, looked int)
	polls func() bool // whether there are directories without events
	pump  *pump
	asked atomic.Bool   // somebody wants to know of changes, and has not subscribed yet when the net is roused
	wake  chan struct{} // 1-buffered, never closed; sent to with each check of the root, so that an idle net needs no timer
}

// run returns when ctx ends.
func (n *net) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		for n.round(ctx) {
		}
	}
}

// ask has a net that is idle look twice.
func (n *net) ask() {
	n.asked.Store(true)
	n.rouse()
}

// rouse has a net that is idle see whether there is something to look at now.
func (n *net) rouse() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// round returns when it is time for the next one, or false if there is nothing to look at.
func (n *net) round(ctx context.Context) (more bool) {
	start := time.Now()
	changed, looked := n.look(ctx, lookMost)
	took := time.Since(start)
	if len(changed) > 0 && !sleep(ctx, eventsFirst) {
		return false
	}
	for i, path := range changed {
		if i > 0 && i%nameMost == 0 && !sleep(ctx, burstSpan) {
			return false
		}
		n.pump.merge(path, Attribute) // the weakest evidence: if an event has told meanwhile, nothing follows from it
	}
	every := lookEvery
	if n.polls() {
		every = lookPolled
	}
	return (n.asked.Swap(false) || looked > 0) && sleep(ctx, max(jitter(every), min(lookRest*took, lookLate)))
}

// sleep returns false as soon as ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
