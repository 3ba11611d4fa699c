package interop

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// journal is a list that grows, whose readers wait for what they need to find in it. The zero value is empty.
type journal[T any] struct {
	mu    sync.Mutex
	items []T           // guarded by mu
	grown chan struct{} // guarded by mu; closed at the next item, nil while nobody waits
}

func (j *journal[T]) add(item T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.items = append(j.items, item)
	if j.grown != nil {
		close(j.grown)
		j.grown = nil
	}
}

// all returns the items so far, and a channel that is closed when there is one more.
func (j *journal[T]) all() ([]T, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.grown == nil {
		j.grown = make(chan struct{})
	}
	return slices.Clip(j.items), j.grown
}

// await returns the items once they are enough, or an error when ctx ends before.
func (j *journal[T]) await(ctx context.Context, enough func([]T) bool) ([]T, error) {
	for {
		items, grown := j.all()
		if enough(items) {
			return items, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return items, fmt.Errorf("waiting among %d items: %w", len(items), ctx.Err())
		}
	}
}
