package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// syncWithin is how long an answer waits for what has just happened on disk. Then it is what is known.
const syncWithin = time.Second

// barrier has answers tell of all that happened on disk before they were asked for. Watchers are added before anybody asks.
type barrier struct{ watchers []*watched }

type watched struct {
	*watcher.Watcher
	scanned atomic.Bool // the first batch is applied; the first answers must not wait for that
}

// add returns what is to be called when the first batch of w is applied.
func (b *barrier) add(w *watcher.Watcher) (scanned func()) {
	added := &watched{Watcher: w}
	b.watchers = append(b.watchers, added)
	return func() { added.scanned.Store(true) }
}

// asked has watchers that are slow to find changes make haste.
func (b *barrier) asked() {
	for _, w := range b.watchers {
		w.Wake()
	}
}

// update returns when all that happened before is applied, or after a second.
func (b *barrier) update(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncWithin)
	defer cancel()
	var syncing sync.WaitGroup
	for i, w := range b.watchers {
		switch {
		case !w.scanned.Load():
		case i == len(b.watchers)-1: // mostly there is but one
			_ = w.Sync(ctx) // that it is late, or ends, leaves what is known
		default:
			syncing.Go(func() { _ = w.Sync(ctx) })
		}
	}
	syncing.Wait()
}
