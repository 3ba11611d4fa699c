package transport

import (
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// Handler serves the listens of revision 2026-07-28 that come over HTTP and passes every other request on to next, which
// sees it unchanged. A nil opts means the defaults: with them a listen is served under any path. See [Server.Handler] for
// what the http.Server should have.
//
// The Guard of opts decides who may listen, and is not asked about what is passed on. The default lets in who names a
// loopback address or the one that the connection arrived at: a server with a name needs a Guard with its Hosts. What
// authenticates clients, limits their rate or answers the preflights of browsers goes around the endpoint, so that it sees
// listens too; it must leave the ResponseWriter with Flush, or with Unwrap. With Hijack as well a listen needs a fraction of the
// memory, see [Server.Handler], and such a handler sees the request end when it is acknowledged.
//
// A request is a listen if its headers say so, or if the body of a POST with JSON does, which is looked at for that until its
// method has come, or for HTTPOptions.WriteTimeout. So one without Mcp-Method is refused here, with the error that the revision asks for. A request that
// names no revision is passed on if it names a session.
//
// Shutdown completes the listens, and refuses new ones. It does not wait for what was passed on.
func (i *Interceptor) Handler(next http.Handler, opts *HTTPOptions) *Endpoint {
	if next == nil {
		panic("transport: an interceptor needs a handler to pass requests on to")
	}
	if opts == nil {
		opts = &HTTPOptions{}
	}
	e := i.s.endpoint(*opts)
	e.next = next
	return e
}

// look is a look at a request, to find out whether it is the endpoint's. As its body it gives what it has read of it, and
// then the rest.
type look struct {
	e      *Endpoint
	body   io.ReadCloser
	client string
	read   []byte // was read, and is not yet given
	err    error  // ended the reading
	ours   bool

	room atomic.Int64 // bytes of Endpoint.bodies that it holds
}

func (e *Endpoint) look(w http.ResponseWriter, r *http.Request) *look {
	l := &look{e: e, body: r.Body, client: remoteAddress(r)}
	h := r.Header
	says := len(h[headerMethod]) == 1 && h[headerMethod][0] == methodListen
	switch {
	case r.Method != http.MethodPost, r.Body == nil, e.opts.Path != "" && r.URL.Path != e.opts.Path:
	case says && isModernHeader(h):
		l.ours = true
	case r.ContentLength == 0:
	case len(h["Content-Type"]) == 1 && isJSON(h["Content-Type"][0]) && len(h["Content-Encoding"]) == 0:
		r.Body = l
		rc, patience := http.NewResponseController(w), e.opts.WriteTimeout
		if limit := readTimeout(r); limit > 0 {
			patience = min(patience, limit)
		}
		_ = rc.SetReadDeadline(time.Now().Add(patience))
		l.ours = l.findMethod() == methodListen && l.isOurs(h) || l.isOurBatch(h)
		if l.err == nil || l.err == io.EOF { // or the http.Server would wait for the rest without end
			_ = rc.SetReadDeadline(l.deadline(r))
		}
	}
	return l
}

// deadline is until when the rest of the body may come: for as long as the http.Server allows. Once all has come there is none,
// or it would end the request.
func (l *look) deadline(r *http.Request) time.Time {
	limit := readTimeout(r)
	if limit == 0 || l.err != nil {
		return time.Time{}
	}
	return time.Now().Add(limit)
}

// readTimeout is that of the http.Server, 0 if there is none.
func readTimeout(r *http.Request) time.Duration {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return 0
	}
	return max(server.ReadTimeout, 0)
}

// findMethod reads until the method has come, which as a rule is at once. It is empty if there is none. It looks again only
// when as much has come as there was, so that a body that comes in small pieces costs no more than a few looks.
func (l *look) findMethod() string {
	looked := 0
	for {
		more := l.more()
		if more && len(l.read) < 2*looked {
			continue
		}
		looked = len(l.read)
		if method := leadingText(l.read, "method"); method != "" || !more {
			return method
		}
	}
}

// isOurs reads all of a listen, and reports whether it is one of revision 2026-07-28 or, outside of a session, of none.
func (l *look) isOurs(h http.Header) bool {
	if isModernHeader(h) {
		return true
	}
	for l.more() {
	}
	return isListen(l.read, ours(h))
}

// isOurBatch reports whether what was read is a batch, outside of a session, that holds such a listen: it is refused as a
// whole, since no revision that has listens has batches.
func (l *look) isOurBatch(h http.Header) bool {
	if len(h[headerSession]) > 0 || !jsonrpc.IsBatch(l.read) {
		return false
	}
	items, failure := jsonrpc.Batch(l.read)
	return failure == nil && holdsListen(items, ours(h))
}

// ours tells the parameters of our listens from those of others, in a request with these headers.
func ours(h http.Header) func(params json.RawMessage) bool {
	return func(params json.RawMessage) bool {
		if isModernHeader(h) {
			return true
		}
		if version, named := namedVersion(params); named {
			return version == mcp.Modern
		}
		return len(h[headerVersion]) == 0 && len(h[headerSession]) == 0
	}
}

// more reads on, unless that was all, it has become longer than a request may be, or there is no memory for it.
func (l *look) more() bool {
	longest := l.e.opts.MaxBody + 1
	size := int64(len(l.read))
	if l.err != nil || size >= longest {
		return false
	}
	if size == int64(cap(l.read)) {
		larger := grown(max(size, 256), longest)
		if held := l.room.Load(); larger > freeBody+1 {
			if l.e.bodies.take(l.client, larger-held) != nil {
				return false
			}
			l.room.Store(larger)
		}
		l.read = append(make([]byte, 0, larger), l.read...)
	}
	var n int
	n, l.err = readSome(l.body, l.read[size:min(int64(cap(l.read)), longest)])
	l.read = l.read[:size+int64(n)]
	return true
}

// Read gives what was read, and then the rest.
func (l *look) Read(p []byte) (int, error) {
	if len(l.read) > 0 {
		n := copy(p, l.read)
		l.read = l.read[n:]
		return n, nil
	}
	l.drop()
	if l.err != nil {
		return 0, l.err
	}
	return l.body.Read(p)
}

// Close implements [io.Closer] for a body.
func (l *look) Close() error { return l.body.Close() }

// drop gives back the memory of what was read.
func (l *look) drop() {
	if held := l.room.Swap(0); held > 0 {
		l.e.bodies.give(l.client, held)
	}
}
