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
	// usual and worst are how many thirds of a byte each byte of a file takes: itself and its base64, or as a text of which
	// few characters are escaped; at worst itself, and six bytes of JSON for a control character.
	usual, worst = 7, 21
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

	// dense is set once the content was found to take more than is usual. To reserve for the worst at once would let one
	// answer that is not taken keep the next large read waiting: 16 MiB may take 112, and hardly ever do.
	dense bool
}

// reserve takes the memory that a read of so many bytes needs, instead of what was held before, and waits for it. The error
// is that of ctx.
func (h *share) reserve(ctx context.Context, size int64) error {
	h.release()
	if size <= mcp.SmallRead {
		return nil
	}
	thirds := int64(usual)
	if h.dense {
		thirds = worst
	}
	n := h.of.size
	if size < (n-perRead)/thirds*3 {
		n = size*thirds/3 + perRead
	}
	return h.acquire(ctx, n)
}

func (h *share) acquire(ctx context.Context, n int64) error {
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

// covers reports whether there is memory for an answer of so many bytes to what need not be held besides, and takes it if it is
// to be had at once. If not, await does, and what was read is to be let go of before.
func (h *share) covers(answer int64) bool {
	n := h.whole(answer)
	if h.held >= n {
		return true
	}
	h.release()
	if !h.of.free.TryAcquire(n) {
		return false
	}
	h.held = n
	return true
}

// await waits for the memory that covers has not got. The error is that of ctx.
func (h *share) await(ctx context.Context, answer int64) error {
	h.release()
	return h.acquire(ctx, h.whole(answer))
}

// whole is what an answer of so many bytes takes with what is around them.
func (h *share) whole(answer int64) int64 { return min(answer+perRead, h.of.size) }

// suffices reports whether what is held does for an answer of so many bytes to content of so many. If not, the content is to
// be let go of and read again: who waits for memory holds none.
func (h *share) suffices(content int, answer int64) bool {
	if h.held == 0 || h.held == h.of.size || h.dense || int64(content)+answer <= h.held {
		return true
	}
	h.dense = true
	return false
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
