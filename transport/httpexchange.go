package transport

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// exchange is one HTTP request and its answer. Its handler may write to it, and no longer than a deadline that is renewed
// as the client takes what is written; anybody may interrupt it.
type exchange struct {
	e      *Endpoint
	w      http.ResponseWriter
	r      *http.Request
	rc     *http.ResponseController
	owner  string // the name of the client's token, empty if there is none
	client string // as whom its streams are counted
	room   int64  // bytes of Endpoint.bodies that its body holds
	taken  bool   // its connection is somebody else's now

	// ctx is that of the work. It ends with the connection and by interrupt.
	ctx workContext

	memory share     // of a read
	rest   remainder // of an answer

	// Guarded by Endpoint.mu.
	working bool           // it counts against MaxRequests
	stream  *listen.Stream // what it carries, nil while it is no stream

	// mu guards what follows, and the deadlines.
	mu    sync.Mutex
	limit time.Time // no write goes on after it, if it is set
	busy  bool      // a write is on its way, or may be
}

func (e *Endpoint) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{e: e, w: w, r: r, rc: http.NewResponseController(w), ctx: workContext{Context: r.Context()}}
	if r.ContentLength != 0 {
		// Also for those who are refused: the rest of a body is read before they are answered.
		_ = x.rc.SetReadDeadline(time.Now().Add(e.opts.WriteTimeout))
	}
	if !r.ProtoAtLeast(1, 1) {
		// Without chunks the end of the connection is that of the answer.
		w.Header().Set("Connection", "close")
	}
	if r.Header["Expect"] != nil {
		x.arm() // to look at the body is to have the client told to send it
	}
	return x
}

// end ends the exchange, once its handler has said all.
func (x *exchange) end() {
	x.dropBody()
	x.e.leave(x)
	x.ctx.finish()
	if x.taken {
		return
	}
	if x.w.Header().Get("Connection") == "close" {
		x.arm() // the connection ends as well, and its last bytes are written under this deadline
		return
	}
	x.disarm()
}

// arm starts the time in which the client has to take what is written next. An http.Server has no timeout that a stream
// could live with: it "kills" what takes longer as a whole.
func (x *exchange) arm() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy = true
	deadline := time.Now().Add(x.e.opts.WriteTimeout)
	if !x.limit.IsZero() && x.limit.Before(deadline) {
		deadline = x.limit
	}
	_ = x.rc.SetWriteDeadline(deadline)
}

// disarm lets time pass while nothing is written: over HTTP/2 a deadline ends a stream that is idle.
func (x *exchange) disarm() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy { // else there is no deadline
		x.busy = false
		_ = x.rc.SetWriteDeadline(time.Time{})
	}
}

// interrupt ends the work, and what is written soon after. The exchange must not have ended: the caller holds Endpoint.mu
// and has found it among the exchanges.
func (x *exchange) interrupt(cause error) {
	x.ctx.stop(cause)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.limit = time.Now().Add(lastWords)
	_ = x.rc.SetReadDeadline(time.Now())
	if x.busy {
		_ = x.rc.SetWriteDeadline(x.limit)
	}
}

// renewal is how many bytes the client has to take within one deadline.
const renewal = 64 << 10

// send writes and hands on to the client all of p.
func (x *exchange) send(p []byte) error {
	x.dropBody()
	defer x.disarm()
	for len(p) > renewal {
		x.arm()
		if _, err := x.w.Write(p[:renewal]); err != nil {
			return err
		}
		p = p[renewal:]
	}
	x.arm()
	if len(p) > 0 {
		if _, err := x.w.Write(p); err != nil {
			return err
		}
	}
	return x.rc.Flush()
}

// answer sends a whole answer, without a body if message is nil.
func (x *exchange) answer(status int, message []byte) error {
	h := x.w.Header()
	if message != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
	}
	if status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(message))) // else an empty body is sent in chunks, after the deadline
	}
	x.w.WriteHeader(status)
	err := x.send(message)
	if err != nil {
		x.e.log.Debug("answer is not taken", "client", x.client, "err", err)
	}
	return err
}

// refuse answers with an error and its status.
func (x *exchange) refuse(id jsonrpc.ID, err error, modern bool) {
	frame := newFrame()
	*frame = x.e.s.refuse(&x.ctx, *frame, id, err, modern)
	x.answerError(*frame, err, modern)
	recycle(frame)
}

// answerError sends the message of an error with its status.
func (x *exchange) answerError(message []byte, err error, modern bool) {
	status := httpStatus(causeOf(&x.ctx, err), modern)
	if status == http.StatusServiceUnavailable {
		x.w.Header().Set("Retry-After", retryAfter)
		x.hangUp()
	}
	_ = x.answer(status, message)
}

// hangUp ends the connection with the answer over HTTP/1: kept for a further request, those of clients that are refused
// take the descriptors of those that are served. One of HTTP/2 may carry streams, which that would end.
func (x *exchange) hangUp() {
	if x.r.ProtoMajor == 1 {
		x.w.Header().Set("Connection", "close")
	}
}

// retryAfter is in how many seconds a client should try again what there was no room for.
const retryAfter = "2"

// remoteAddress is the address of the client, as far as it tells one from another: whoever has one address of IPv6 has all
// of its network.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Unmap().Is4() {
		return host
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}
