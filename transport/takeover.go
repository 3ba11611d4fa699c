package transport

import (
	"bytes"
	"net"
	"net/http"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// takeOver takes the connection of an acknowledged listen, or of an answer to GET, away from the http.Server, which keeps 11 kB for each that it is
// in the middle of answering, and has the socket go on. It reports false, and has done nothing, where that cannot be: of
// HTTP/2 there is only a part of a connection, HTTP/1.0 is rare, and a ResponseWriter that does not offer it itself may
// have something to do with what is written.
func (x *exchange) takeOver(k *socket, stream *listen.Stream) bool {
	_, can := x.w.(http.Hijacker)
	h := x.w.Header()
	if !can || x.r.ProtoMajor != 1 || x.r.ProtoMinor != 1 || len(h["Content-Encoding"]) > 0 {
		return false
	}
	conn, read, err := x.rc.Hijack()
	if err != nil {
		return false
	}
	x.dropBody()
	x.taken = true
	k.heard = read.Reader.Buffered()
	k.take(x, conn, stream)
	if !k.of.lookout.see(k) {
		go k.watch()
	}
	t := newTurn()
	defer t.drop()
	t.buf = x.appendHead(t.buf)
	if k.turn(t) {
		k.of.release(k)
	}
	return true
}

// appendHead appends the head of an answer that is a stream in chunks.
func (x *exchange) appendHead(dst []byte) []byte {
	x.setEvents()
	h := x.w.Header()
	if _, set := h["Date"]; !set {
		h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	h.Set("Transfer-Encoding", "chunked")
	head := bytes.NewBuffer(append(dst, "HTTP/1.1 200 OK\r\n"...))
	_ = h.Write(head) // a buffer takes all
	return append(head.Bytes(), "\r\n"...)
}

// take makes the connection the socket's, which its caller goes on to hold.
func (k *socket) take(x *exchange, conn net.Conn, stream *listen.Stream) {
	k.conn, k.stream, k.client = conn, stream, x.client
	switch c := conn.(type) { // nothing that merely holds one
	case *net.TCPConn:
		k.raw, _ = c.SyscallConn()
	case *net.UnixConn:
		k.raw, _ = c.SyscallConn()
	}
	k.of.take(k)
	if k.session != nil {
		k.session.socket.Store(k)
	}
	x.e.moor(x, k)
	switch { // the end came before the socket could be told
	case x.ctx.Err() == nil:
	case k.session == nil:
		k.abort()
	default:
		_ = conn.SetDeadline(time.Time{}) // which exchange.interrupt may have set
		k.of.interrupt(k)
	}
}
