package transport

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// remainder is the part of an answer over HTTP that is read while it is sent: what follows of the content of a large file after its
// first bytes, which were checked and encoded before anything was sent. It is zero if there is none.
type remainder struct {
	body   mcp.Body // nil: the answer is whole
	encode func(dst, block []byte) []byte
	next   int    // the block that follows
	left   []byte // of the block before, not encoded yet
	at     int    // where in the message it belongs
	size   int64  // bytes that it takes there
}

// begin appends what comes before the rest of contents that take so many bytes on the wire. The error is mcp.ErrChanged if they
// are not what they were: then nothing is left open.
func (t *remainder) begin(dst []byte, c *mcp.Contents, size int64) ([]byte, error) {
	*t = remainder{body: c.Body}
	dst, t.encode = openContents(dst, c)
	start := len(dst)
	dst, err := t.append(slices.Grow(dst, sent))
	if err != nil {
		t.close()
		return nil, err
	}
	t.at, t.size = len(dst), size-int64(len(dst)-start)
	return dst, nil
}

const (
	// sent is how many bytes of a rest are about to be sent at a time: what the base64 of a block takes, so that one block of that is
	// one write, and with its head a frame that can be kept.
	sent = 60 << 10
	// portion is how many bytes of content are encoded until it is seen whether that is enough, a multiple of three.
	portion = 3 << 10
)

// append appends the next of the rest: at least a byte, unless it is at its end, and little more than sent. Blocks that are shorter
// on the wire are sent together, since each write wakes the client.
func (t *remainder) append(dst []byte) ([]byte, error) {
	for end := len(dst) + sent; len(dst) < end; {
		if len(t.left) == 0 {
			if t.next == t.body.Blocks() {
				break
			}
			var err error
			if t.left, err = t.body.Block(t.next); err != nil {
				return dst, err
			}
			t.next++
		}
		n := min(len(t.left), portion)
		dst = t.encode(dst, t.left[:n])
		t.left = t.left[n:]
	}
	return dst, nil
}

func (t *remainder) close() {
	if t.body != nil {
		t.body.Close()
		t.body = nil
	}
}

// deliver sends an answer with its rest. One that cannot be ended as it was begun is broken off: a client can tell that from an
// answer, and asks again.
func (x *exchange) deliver(frame *[]byte, t *remainder) {
	if t.body == nil {
		_ = x.answer(http.StatusOK, *frame)
		return
	}
	defer t.close()
	if err := x.pour(frame, t); err != nil {
		x.e.log.Debug("answer is broken off", "client", x.client, "err", err)
		x.hangUp() // what the http.Server has not written yet has its time, too
		panic(http.ErrAbortHandler)
	}
}

// pour sends a message with its rest, of which no more than a block is held. The context is not asked: what ends it, ends the
// time to write as well.
func (x *exchange) pour(frame *[]byte, t *remainder) error {
	x.dropBody()
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.FormatInt(int64(len(*frame))+t.size, 10))
	x.w.WriteHeader(http.StatusOK)
	tail := slices.Clone((*frame)[t.at:])
	for *frame = (*frame)[:t.at]; len(*frame) > 0; {
		for piece := range slices.Chunk(*frame, renewal) {
			x.arm()
			if _, err := x.w.Write(piece); err != nil {
				return err
			}
		}
		var err error
		if *frame, err = t.append((*frame)[:0]); err != nil {
			return err
		}
	}
	return x.send(tail)
}
