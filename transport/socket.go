package transport

import (
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// socket carries a stream on a connection that was taken over from the http.Server. While it is idle it has no goroutine, but
// for one that waits for the client to go where the lookout cannot see that. Until it has the connection it rings for whoever
// answers the request.
type socket struct {
	of      *sockets
	client  string       // as whom it is counted
	session *httpSession // whose stream it is, and whose voice this has; nil: the stream is a listen's, and ends with the connection
	stream  *listen.Stream
	conn    net.Conn
	raw     syscall.RawConn // of conn, nil if what is written to that is not what the system gets
	heard   int             // bytes that the client has sent after its request

	// ending says that the answer is to end at once: another carries what the stream still has to say. It is set with sockets.mu
	// held.
	ending atomic.Bool

	// Owned by whoever holds it, see busy.
	said    time.Time // when something was sent
	next    time.Time // when the stream is to be asked again, zero: when it is woken
	yielded bool      // the session is another's

	// Guarded by sockets.mu.
	bell    bell          // rung while the connection is not taken over, nil afterwards
	ready   link[*socket] // in sockets.ready
	busy    bool          // somebody holds it: pulls from the stream and writes
	limited bool          // a write waits for the client, under a deadline
	again   bool          // it was woken meanwhile
	shut    bool          // nothing more is to be said
	gone    bool          // the connection is closed for ever
	alarm                 // in sockets.alarms

	moored link[*socket] // in Endpoint.moored, guarded by Endpoint.mu
	sight  sight         // in sockets.lookout, guarded by that
}

// mostHeard is how many bytes a client may send after its request. More would keep a processor busy for nothing.
const mostHeard = 64 << 10

// watch waits until the client is gone, or the connection closed, and ends the stream.
func (k *socket) watch() {
	var in [64]byte // what comes is of no interest
	for k.heard < mostHeard {
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
	if k.session == nil {
		k.stream.Cancel()
	}
	k.of.retire(k)
}

// abort closes the connection at once: TLS would say farewell, for which the client may take its time. What merely holds a
// connection is closed itself, since it may count those that are open.
func (k *socket) abort() {
	if c, ok := k.conn.(*tls.Conn); ok {
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

	events []byte // which are part of that

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

// turn sends what the stream hands out now, after what is in the buffer. It waits for nobody, neither for a client nor for a
// log: what is not taken at once is left to a goroutine of the socket's own, which lets go of it then: held says that the
// caller is to.
func (k *socket) turn(t *turn) (held bool) {
	now := time.Now()
	over := t.take(k, now)
	if len(t.buf) == 0 {
		return true
	}
	defer func() { t.buf, t.events = t.buf[:0], nil }()
	n, err := t.send(k.raw)
	if n == len(t.buf) && err == nil {
		k.sent(now, over)
		return true
	}
	k.owe(t.events)
	go k.finish(slices.Clone(t.buf[n:]), over, err)
	return false
}

// owe keeps what is not yet sent, for the next answer to GET of a session.
func (k *socket) owe(events []byte) {
	if k.session != nil && !k.yielded {
		k.session.unsent = slices.Clone(events)
	}
}

// yield lets another carry the stream of a session.
func (k *socket) yield() {
	if k.session != nil && !k.yielded {
		k.yielded = true
		k.session.yield(k)
	}
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

// finish sends the rest, as slowly as the client takes it, unless what came before has failed with err.
func (k *socket) finish(rest []byte, over bool, err error) {
	for len(rest) > 0 && err == nil {
		n := min(len(rest), renewal)
		k.of.limit(k)
		_, err = k.conn.Write(rest[:n])
		rest = rest[n:]
	}
	k.of.unlimit(k)
	if err != nil {
		k.fail(err)
	} else {
		k.owe(nil)
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

// take puts what the stream hands out into the buffer as one chunk, or a comment if one is due, and after the last what ends an
// answer in chunks. The stream is to be asked again at socket.next, or when it is woken if that is zero.
func (t *turn) take(k *socket, now time.Time) (over bool) {
	if k.ending.Load() {
		k.yield() // whoever waits for it does not wait for this client
		t.buf = append(t.buf, lastChunk...)
		return true
	}
	begun := len(t.buf)
	t.buf = append(t.buf, "00000000\r\n"...)
	at := len(t.buf)
	if k.session != nil {
		t.buf = append(t.buf, k.session.unsent...)
		k.session.unsent = nil
	}
	t.buf, k.next, over = appendEvents(t.buf, k.stream, now)
	if len(t.buf) == at && !over && k.silent(now) {
		t.buf = append(t.buf, keepalive...)
	}
	if len(t.buf) == at {
		t.buf = t.buf[:begun]
	} else {
		t.closeChunk(begun, at)
	}
	if over {
		t.buf = append(t.buf, lastChunk...)
	}
	return over
}

const lastChunk = "0\r\n\r\n"

// closeChunk ends the chunk that begins at begun with room for its length, and has its events at at.
func (t *turn) closeChunk(begun, at int) {
	var size [16]byte
	length := strconv.AppendInt(size[:0], int64(len(t.buf)-at), 16)
	n := begun + copy(t.buf[begun:], length)
	n += copy(t.buf[n:], "\r\n")
	t.buf = slices.Delete(t.buf, n, at)
	t.events = t.buf[n:]
	t.buf = append(t.buf, "\r\n"...)
}

// silent reports whether nothing was said for so long that a comment is due, or as good as due: those of many streams
// go out together. That the answer has just begun is no silence.
func (k *socket) silent(now time.Time) bool {
	return !k.said.IsZero() && now.Sub(k.said) > k.of.e.opts.Keepalive-k.of.grid()
}

// Wake implements [listen.Carrier].
func (k *socket) Wake(*listen.Stream) { k.of.wake(k) }

// interrupt implements [bearer].
func (k *socket) interrupt(error) { k.of.interrupt(k) }
