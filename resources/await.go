package resources

import (
	"context"
	"time"
)

// await calls ready until it says so, when Load has learnt something, but no more often than every wakeRest: many may be
// waiting, and Load learns a directory in some microseconds. ready is called with mu held for reading.
func (r *Root) await(ctx context.Context, ready func() bool) error {
	const wakeRest = 2 * time.Millisecond
	for {
		ok, err := r.awaitNews(ctx, ready)
		if ok || err != nil {
			return err
		}
		rest := time.NewTimer(wakeRest)
		select {
		case <-rest.C:
		case <-r.loaded:
		case <-ctx.Done():
		}
		rest.Stop()
	}
}

// awaitNews returns true if ready says so, and false once Load has learnt something more.
func (r *Root) awaitNews(ctx context.Context, ready func() bool) (bool, error) {
	r.waiting.Add(1) // before the look, so that Load cannot miss a waiter that has seen nothing
	defer r.waiting.Add(-1)
	r.mu.RLock()
	ok, progress := ready(), r.progress
	r.mu.RUnlock()
	if ok {
		return true, nil
	}
	select {
	case <-progress:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
