package transport

import (
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// socket is a stream of events on a connection that was taken over from the http.Server: idle, it is nothing else, or this and
// a goroutine that waits for the client to go where the lookout cannot see that. It carries its stream also before that, to
// whoever waits for the bell.
type socket struct {
	of     *sockets
	client string // as whom it is counted
	stream *listen.Stream
	conn   net.Conn
	raw    syscall.RawConn // of conn, nil if what is written to that is not what the system gets
	heard  int             // bytes that came unasked

	// Owned by whoever holds it, see busy.
	said time.Time // when something was sent
	next time.Time // when the stream is to be asked again, zero: when it is woken

	// Guarded by sockets.mu.
	bell  bell          // rung while the connection is not taken over, nil afterwards
	ready link[*socket] // in sockets.ready
	busy  bool          // somebody holds it: pulls from the stream and writes
	again bool          // it was woken meanwhile
	shut  bool          // nothing more is to be said
	gone  bool          // the connection is closed for ever
	alarm               // in sockets.alarms

	moored link[*socket] // in Endpoint.moored, guarded by Endpoint.mu
	sight  sight         // in sockets.lookout, guarded by that
}

// unasked is how many bytes a client may send after its request. More would keep a processor busy for nothing.
const unasked = 64 << 10

// watch waits until the client is gone, or the connection closed, and ends the stream.
func (k *socket) watch() {
	var in [64]byte // what comes is of no interest
	for k.heard < unasked {
		n, err := k.conn.Read(in[:])
		if err != nil {
			break
		}
		k.heard += n
	}
	k.abort()
	k.end()
}

// end ends the stream of a connection that is closed.
func (k *socket) end() {
	k.stream.Cancel()
	k.of.retire(k)
}

// abort closes the connection at once: TLS would say farewell, for which the client may take its time.
func (k *socket) abort() {
	if c, ok := k.conn.(interface{ NetConn() net.Conn }); ok {
		k.close(c.NetConn())
		return
	}
	k.close(k.conn)
}

// close closes the connection. The lookout does not see that, as watch does.
func (k *socket) close(conn net.Conn) {
	_ = conn.Close()
	if k.of.lookout.lose(k) {
		k.end()
	}
}

// turn is what somebody needs to have streams speak, one after the other.
type turn struct {
	frame *[]byte
	buf   []byte // what is written, empty between two streams but for a head

	// What try writes, and what comes of it.
	rest  []byte
	wrote int
	err   error
	try   func(fd uintptr) bool // is made once, since it is allocated
}

func newTurn() *turn {
	t := &turn{frame: newFrame()}
	t.buf = *t.frame
	t.try = func(fd uintptr) bool {
		t.wrote, t.err = trySend(fd, t.rest)
		return true
	}
	return t
}

// drop gives back the memory.
func (t *turn) drop() {
	*t.frame = t.buf[:0]
	recycle(t.frame)
}

// turn sends what the stream hands out now, after what is in the buffer. It waits for nobody: what is not taken at once is
// left to a goroutine of the socket's own, which lets go of it then: held says that the caller is to.
func (k *socket) turn(t *turn) (held bool) {
	now := time.Now()
	var over bool
	t.buf, k.next, over = k.appendChunk(t.buf, now)
	if len(t.buf) == 0 {
		return true
	}
	defer func() { t.buf = t.buf[:0] }()
	n, err := t.send(k.raw)
	switch {
	case err != nil:
		k.fail(err)
	case n < len(t.buf):
		go k.finish(slices.Clone(t.buf[n:]), over)
		return false
	default:
		k.sent(now, over)
	}
	return true
}

// send writes what a connection takes at once.
func (t *turn) send(raw syscall.RawConn) (n int, err error) {
	if raw == nil {
		return 0, nil
	}
	t.rest, t.wrote, t.err = t.buf, 0, nil
	err = raw.Write(t.try)
	t.rest = nil
	if err == nil {
		err = t.err
	}
	return t.wrote, err
}

// finish sends the rest, as slowly as the client takes it.
func (k *socket) finish(rest []byte, over bool) {
	var err error
	for len(rest) > 0 && err == nil {
		n := min(len(rest), renewal)
		_ = k.conn.SetWriteDeadline(time.Now().Add(k.of.e.opts.WriteTimeout))
		_, err = k.conn.Write(rest[:n])
		rest = rest[n:]
	}
	_ = k.conn.SetWriteDeadline(time.Time{})
	if err != nil {
		k.fail(err)
	} else {
		k.sent(time.Now(), over)
	}
	k.of.release(k)
}

// sent notes that all is sent. With the last of it the connection ends.
func (k *socket) sent(now time.Time, over bool) {
	k.said = now
	if over {
		k.of.shut(k)
		k.close(k.conn)
	}
}

// fail ends a stream that cannot be sent.
func (k *socket) fail(err error) {
	k.of.e.log.Debug("stream is not taken", "client", k.client, "err", err)
	k.of.shut(k)
	k.abort()
}

// chunkHead is room for the length of a chunk and what ends that.
const chunkHead = len("ffffffff\r\n")

// appendChunk appends what the stream hands out as one chunk, or a comment if one is due, and after the last what ends an
// answer in chunks. The stream is to be asked again at next, or when it is woken if that is zero.
func (k *socket) appendChunk(dst []byte, now time.Time) (_ []byte, next time.Time, over bool) {
	begun := len(dst)
	at := begun + chunkHead
	dst = append(dst, "00000000\r\n"...)
	dst, next, over = appendEvents(dst, k.stream)
	if len(dst) == at && !over && k.silent(now) {
		dst = append(dst, keepalive...)
	}
	if len(dst) == at {
		dst = dst[:begun]
	} else {
		dst = closeChunk(dst, begun)
	}
	if over {
		dst = append(dst, "0\r\n\r\n"...)
	}
	return dst, next, over
}

// closeChunk ends the chunk whose head begins at begun, and gives that its length.
func closeChunk(dst []byte, begun int) []byte {
	var size [16]byte
	length := strconv.AppendInt(size[:0], int64(len(dst)-begun-chunkHead), 16)
	n := copy(dst[begun:], length)
	n += copy(dst[begun+n:], "\r\n")
	dst = slices.Delete(dst, begun+n, begun+chunkHead)
	return append(dst, "\r\n"...)
}

// silent reports whether nothing was said for so long that a comment is due, or as good as due: those of many streams
// go out together. That the answer has just begun is no silence.
func (k *socket) silent(now time.Time) bool {
	return !k.said.IsZero() && now.Sub(k.said) > k.of.e.opts.Keepalive-k.of.grid()
}

// Wake implements [listen.Carrier].
func (k *socket) Wake(*listen.Stream) { k.of.wake(k) }
