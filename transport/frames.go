package transport

import "sync"

// frames keeps the memory of small answers, leaves that of pages of the list that are larger.
var (
	frames = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}
	leaves sync.Pool
)

// What frames and leaves keep at most of one answer, in bytes.
const (
	largestFrame = 2 * burst
	largestLeaf  = 512 << 10
)

func newFrame() *[]byte { return frames.Get().(*[]byte) }

// newLeaf returns a frame that is begun as it is, or copied to where there is more room, if an earlier page has left some.
func newLeaf(begun []byte) []byte {
	if leaf, ok := leaves.Get().(*[]byte); ok {
		return append(*leaf, begun...)
	}
	return begun
}

func recycle(frame *[]byte) {
	size := cap(*frame)
	*frame = (*frame)[:0]
	switch {
	case size <= largestFrame:
		frames.Put(frame)
	case size <= largestLeaf:
		leaves.Put(frame)
	}
}
