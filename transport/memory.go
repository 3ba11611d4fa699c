package transport

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// memory is what the reads of a server may take together, but for small ones: of those there are only so many at a time.
type memory struct {
	free *semaphore.Weighted
	size int64 // bytes
}

const (
	// perByte is what a byte of a file takes at worst: itself, and six bytes of JSON for a control character.
	perByte = 7
	// perRead is what a read takes besides.
	perRead = 4 << 10
)

func newMemory(size int64) *memory { return &memory{semaphore.NewWeighted(size), size} }

// share is what one read holds of the memory. It is no more than all of it, so that a large read runs, alone. It has one
// owner at a time.
type share struct {
	of   *memory
	wait func(acquire func()) // runs acquire, which blocks
	held int64                // bytes
}

// reserve takes the memory that a read of so many bytes needs at worst, instead of what was held before, and waits for
// it. The error is that of ctx.
func (h *share) reserve(ctx context.Context, size int64) error {
	h.release()
	if size <= mcp.SmallRead {
		return nil
	}
	n := h.of.size
	if size < (n-perRead)/perByte {
		n = perByte*size + perRead
	}
	if !h.of.free.TryAcquire(n) {
		var err error
		h.wait(func() { err = h.of.free.Acquire(ctx, n) })
		if err != nil {
			return err
		}
	}
	h.held = n
	return nil
}

// shrink gives back all but so many bytes.
func (h *share) shrink(to int64) {
	if surplus := h.held - to; surplus > 0 {
		h.held = to
		h.of.free.Release(surplus)
	}
}

// release gives back what is held.
func (h *share) release() { h.shrink(0) }
