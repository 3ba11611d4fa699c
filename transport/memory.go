package transport

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// memory is what all reads of a server may take together. Small ones have a part of their own, so that they do not wait
// in line behind large ones.
type memory struct {
	small, large pool
}

// pool is a part of the memory.
type pool struct {
	free *semaphore.Weighted
	size int64 // bytes
}

const (
	// perByte is what a byte of a file takes at worst: itself, and six bytes of JSON for a control character.
	perByte = 7
	// perRead is what a read takes besides.
	perRead = 4 << 10
)

func newMemory(size int64) *memory {
	small := size / 8
	return &memory{small: newPool(small), large: newPool(size - small)}
}

func newPool(size int64) pool { return pool{semaphore.NewWeighted(size), size} }

// share is what one read holds of the memory. It is no more than the whole pool, so that a large read runs, alone. It has
// one owner at a time, and the zero share holds nothing.
type share struct {
	of   *memory
	wait func(acquire func()) // runs acquire, which blocks

	pool *pool // nil while nothing is held
	held int64 // bytes
}

// reserve takes the memory that a read of so many bytes needs at worst, instead of what was held before, and waits for
// it. The error is that of ctx.
func (h *share) reserve(ctx context.Context, size int64) error {
	h.release()
	p := &h.of.large
	if size <= mcp.SmallRead {
		p = &h.of.small
	}
	n := p.size
	if size < (n-perRead)/perByte {
		n = perByte*max(size, 0) + perRead
	}
	if !p.free.TryAcquire(n) {
		var err error
		h.wait(func() { err = p.free.Acquire(ctx, n) })
		if err != nil {
			return err
		}
	}
	h.pool, h.held = p, n
	return nil
}

// shrink gives back all but so many bytes.
func (h *share) shrink(to int64) {
	if surplus := h.held - to; surplus > 0 {
		h.held = to
		h.pool.free.Release(surplus)
	}
}

// release gives back what is held.
func (h *share) release() {
	if h.pool != nil {
		h.shrink(0)
		h.pool = nil
	}
}
