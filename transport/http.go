package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// HTTPOptions configure an [Endpoint]. The zero value of each field is ready to use.
type HTTPOptions struct {
	// Path is that of the one URL which is served. The default is /mcp, for an [Interceptor] it is any.
	Path string
	// Keepalive is how long a stream says nothing before it sends a comment, so that no proxy takes it for dead. The
	// default is 15 s.
	Keepalive time.Duration
	// WriteTimeout is how long a client may take to accept 64 KiB, or to send its request, before it is given up. The
	// default is 30 s.
	WriteTimeout time.Duration
	// SessionTimeout is how long a legacy session lives without a request or an open stream. The default is 30 min.
	SessionTimeout time.Duration
	// MaxBody is the length in bytes of the longest request. The default is 4 MiB.
	MaxBody int64
	// MaxRequests is how many requests of all clients together are worked on or answered at a time, not counting streams.
	// The default is 1,024. Further ones are refused with status 503. As many answers at a time may be on their way to those
	// who are not let in, further ones are broken off. One client may have as many requests besides its listens that have
	// not come whole, are worked on, or are answered.
	MaxRequests int
	// MaxListensPerClient is how many listens and legacy sessions one client may have open, by the name of its token, else
	// by its address. The default is 16,384, a quarter of what a hub holds by default, since all may come through one
	// proxy. Further ones are refused with status 503.
	MaxListensPerClient int
	// Guard decides who may ask. The default is that of a server on a loopback address.
	Guard *Guard
	// Logger receives what goes wrong with clients, at level debug. The default is that of the server.
	Logger *slog.Logger
}

// Endpoint is the one URL of Streamable HTTP (2026-07-28, basic/transports/streamable-http), for both eras: a modern
// request is a POST of its own, a legacy session is opened by initialize and named by a header. 2024-11-05 had another
// transport, which is not served, but its revision may be negotiated: clients that were brought to this transport later do
// ask for it. Make one with [Server.Handler].
type Endpoint struct {
	s    *Server
	next http.Handler // serves what is not the endpoint's; nil: everything is
	opts HTTPOptions
	log  *slog.Logger

	// turned holds a token, of MaxRequests, for each answer to who is not let in, while it is sent. It is never closed.
	turned chan struct{}

	bodies  *bodyRoom
	batches *semaphore.Weighted // bytes of answers to batches
	size    int64               // bytes, of each of the two

	// mu guards what follows and what is said to be so in exchange and httpSession. It is never held while anything is
	// written or the hub is asked.
	mu        sync.Mutex
	closing   bool          // nothing new is taken
	drained   chan struct{} // made by the first Shutdown, closed when no exchange and no socket is left after it
	exchanges map[*exchange]struct{}
	moored    queue[*socket] // streams whose exchange is over
	afloat    int            // how many they are
	present   map[string]int // exchanges and moored, by client
	working   int            // exchanges that count against MaxRequests
	listens   map[string]int // streams and sessions, by client
	sessions  map[string]*httpSession

	sockets sockets // is not guarded
}

// Handler makes an endpoint. A nil opts means the defaults. It is an [http.Handler] for HTTP/1 and HTTP/2. The
// http.Server should have no WriteTimeout and no ReadTimeout: both are renewed here, for as long as a stream is open. For
// HTTP/2 it should have a WriteByteTimeout: what ends a stream waits as long as its connection takes nothing. It should also have
// as many MaxConcurrentStreams as a client may have listens, and requests besides: the next one waits and is not refused.
// OPTIONS * is looked at here only with DisableGeneralOptionsHandler.
//
// An idle listen over HTTP/1.1 needs some 3 kB on Linux and 6 kB elsewhere, the stream of a session and that together 2 kB more.
// Each needs 30 kB if its connection cannot be taken over: for that the ResponseWriter itself must be an [http.Hijacker], as that
// of the http.Server is. One that a handler has put around it and that is none is written to until the stream is over.
//
// A stream whose connection is taken over is over for the http.Server and for handlers around the endpoint: those return while it
// goes on, so that MaxListensPerClient is what bounds it, and ConnState sees http.StateHijacked last. Neither the timeouts of the
// http.Server, nor its Shutdown or Close, nor the end of a context of the request, BaseContext's and ConnContext's with it, end
// the stream. [Endpoint.Shutdown] does, also when a context ends:
//
//	context.AfterFunc(base, func() { _ = endpoint.Shutdown(base) })
//
// So does who closes the connection itself, as they have it from ConnState: that is seen within a second.
func (s *Server) Handler(opts *HTTPOptions) *Endpoint {
	if opts == nil {
		opts = &HTTPOptions{}
	}
	o := *opts
	o.Path = cmp.Or(o.Path, "/mcp")
	return s.endpoint(o)
}

// endpoint makes an endpoint, with defaults for all but the path.
func (s *Server) endpoint(o HTTPOptions) *Endpoint {
	o.Keepalive = positive(o.Keepalive, 15*time.Second)
	o.WriteTimeout = positive(o.WriteTimeout, 30*time.Second)
	o.SessionTimeout = positive(o.SessionTimeout, 30*time.Minute)
	o.MaxBody = positive(o.MaxBody, 4<<20)
	o.MaxRequests = positive(o.MaxRequests, 1024)
	o.MaxListensPerClient = positive(o.MaxListensPerClient, 16_384)
	if o.Logger == nil {
		o.Logger = s.log
	}
	size := max(64<<20, 5*o.MaxBody) // a quarter holds the longest body, and a byte to see its end
	e := &Endpoint{
		s: s, opts: o, log: o.Logger, turned: make(chan struct{}, o.MaxRequests),
		bodies: newBodyRoom(size), batches: semaphore.NewWeighted(size), size: size,
		exchanges: map[*exchange]struct{}{}, present: map[string]int{}, listens: map[string]int{}, sessions: map[string]*httpSession{},
	}
	e.sockets.e = e
	return e
}

func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.next != nil {
		look := e.look(w, r)
		defer look.drop()
		if !look.ours {
			e.next.ServeHTTP(w, r)
			return
		}
	}
	defer e.report()
	x := e.newExchange(w, r)
	defer x.end()
	if !e.admit(x) {
		e.turnAway(x, func() { _ = x.rc.Flush() })
		return
	}
	if err := e.enter(x); err != nil {
		e.turnAway(x, func() { x.refuse(jsonrpc.ID{}, err, true) })
		return
	}
	switch r.Method {
	case http.MethodPost:
		x.post()
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	case http.MethodOptions:
		w.Header().Set("Allow", allMethods)
		x.answer(http.StatusNoContent, nil)
	default:
		x.refuseMethod(allMethods)
	}
}

// turnAway sends an answer to who is not let in. If too many others do not take theirs it is broken off instead: one
// connection of HTTP/2 may have thousands, each with the memory of its headers, and nobody need have a token for them.
func (e *Endpoint) turnAway(x *exchange, send func()) {
	select {
	case e.turned <- struct{}{}:
		defer func() { <-e.turned }()
		x.arm()
		send()
	default:
		panic(http.ErrAbortHandler)
	}
}

// report tells of a fault of the program, which an http.Server survives and tells of among what clients do wrong. The
// answer is broken off.
func (e *Endpoint) report() {
	fault := recover()
	if fault != nil && fault != http.ErrAbortHandler {
		e.log.Error("request failed by a fault of this program", "fault", fault, "stack", string(debug.Stack()))
	}
	if fault != nil {
		panic(http.ErrAbortHandler)
	}
}

// admit looks at who asks, and for what path: it answers what it refuses.
func (e *Endpoint) admit(x *exchange) bool {
	guard := e.opts.Guard
	if !guard.screen(x.w, x.r) {
		e.note(x, "answered by the guard", "host", x.r.Host, "origin", x.r.Header.Get("Origin"))
		return false
	}
	// "Any other path" includes /.well-known/, where hosts look for the metadata of an authorization server: they take
	// nothing but a 404 with JSON for the answer that there is none.
	if x.r.URL.Path != e.opts.Path && e.next == nil {
		answerRefused(x.w, http.StatusNotFound, "nothing is served under this path, %s is the endpoint", e.opts.Path)
		return false
	}
	name, ok := guard.identify(x.w, x.r)
	x.owner, x.client = name, cmp.Or(name, remoteAddress(x.r))
	if !ok {
		e.note(x, "refused without a good token")
		return false
	}
	e.note(x, "admitted", "client", x.client)
	return true
}

// note logs what becomes of a request: who may not ask where is told to nobody else that could help.
func (e *Endpoint) note(x *exchange, what string, args ...any) {
	if e.log.Enabled(x.r.Context(), slog.LevelDebug) {
		e.log.Debug("request "+what, append([]any{"from", remoteAddress(x.r), "method", x.r.Method}, args...)...)
	}
}

const allMethods = "DELETE, GET, OPTIONS, POST"

// refuseMethod answers what is not allowed, and names what is.
func (x *exchange) refuseMethod(allow string) {
	x.w.Header().Set("Allow", allow)
	x.refuse(jsonrpc.ID{}, refused(http.StatusMethodNotAllowed, "%s is not served here, POST is: GET and DELETE need the Mcp-Session-Id of a session that initialize opened", x.r.Method), true)
}

// enter takes an exchange in, unless the end has begun or its client has as many as it may: over all of its connections no
// more than one of HTTP/2 should have, see Server.Handler.
func (e *Endpoint) enter(x *exchange) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closing:
		x.w.Header().Set("Connection", "close") // also over HTTP/2
		return errLeaving
	case e.present[x.client] >= e.opts.MaxListensPerClient+e.opts.MaxRequests:
		return errTooManyExchanges
	}
	e.exchanges[x] = struct{}{}
	e.present[x.client]++
	return nil
}

// leave lets go of an exchange. From then on nobody but its handler touches it.
func (e *Endpoint) leave(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finishLocked(x)
	if _, in := e.exchanges[x]; !in {
		return
	}
	delete(e.exchanges, x)
	e.departLocked(x.client)
}

// departLocked counts one less who is present.
func (e *Endpoint) departLocked(client string) {
	if e.present[client]--; e.present[client] == 0 {
		delete(e.present, client)
	}
	if e.closing && e.emptyLocked() {
		close(e.drained)
	}
}

func (e *Endpoint) emptyLocked() bool { return len(e.exchanges) == 0 && e.afloat == 0 }

// moor has a socket take the place of an exchange.
func (e *Endpoint) moor(x *exchange, k *socket) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.exchanges, x)
	if k.session != nil {
		k.session.moorLocked(x, k)
	}
	e.moored.push(&k.moored, k)
	e.afloat++
}

// unmoor lets go of a socket, and of the listen that it was.
func (e *Endpoint) unmoor(k *socket) {
	k.yield()
	e.mu.Lock()
	defer e.mu.Unlock()
	k.moored.remove()
	e.afloat--
	if k.session == nil {
		e.dropListenLocked(k.client)
	}
	e.departLocked(k.client)
}

// begin counts an exchange among those that are worked on.
func (e *Endpoint) begin(x *exchange) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working >= e.opts.MaxRequests {
		return errBusy
	}
	e.working++
	x.working = true
	return nil
}

func (e *Endpoint) finishLocked(x *exchange) {
	if x.working {
		x.working = false
		e.working--
	}
}

// addListen counts a stream or session of a client, which dropListen ends.
func (e *Endpoint) addListen(client string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listens[client] >= e.opts.MaxListensPerClient {
		return errTooManyListens
	}
	e.listens[client]++
	return nil
}

func (e *Endpoint) dropListen(client string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dropListenLocked(client)
}

func (e *Endpoint) dropListenLocked(client string) {
	if e.listens[client]--; e.listens[client] == 0 {
		delete(e.listens, client)
	}
}

// carry says that an exchange has become that of a stream. If the end has begun meanwhile the stream is to be completed.
func (e *Endpoint) carry(x *exchange, stream *listen.Stream) {
	e.mu.Lock()
	e.finishLocked(x)
	x.stream = stream
	closing := e.closing
	e.mu.Unlock()
	if closing {
		stream.Complete()
	}
}

// lastWords is how long what is cancelled may still take to say so.
const lastWords = 250 * time.Millisecond

// Shutdown refuses what is new, completes every listen, ends every session and waits for what is in flight. When ctx ends it
// cancels the rest and returns the error of ctx. It is to be called before the Shutdown or Close of the http.Server: that waits
// for streams and does not end them or, of those whose connections were taken over, knows nothing.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	if !e.closing {
		e.closing = true
		e.drained = make(chan struct{})
		if e.emptyLocked() {
			close(e.drained)
		}
	}
	var complete, cancel []*listen.Stream
	for x := range e.exchanges {
		if x.stream != nil {
			complete = append(complete, x.stream)
		}
	}
	for k := range e.moored.all() {
		complete = append(complete, k.stream)
	}
	for _, s := range e.sessions {
		if s.carried == nil {
			cancel = append(cancel, s.stream)
		}
	}
	e.mu.Unlock()
	for _, stream := range complete {
		stream.Complete()
	}
	for _, stream := range cancel {
		stream.Cancel()
	}
	select {
	case <-e.drained:
		e.finishSessions()
		return nil
	case <-ctx.Done():
		e.abandon()
		return ctx.Err()
	}
}

// abandon cancels what is left, and waits no longer than that may need to say so.
func (e *Endpoint) abandon() {
	e.finishSessions()
	e.mu.Lock()
	for x := range e.exchanges {
		x.interrupt(errLeaving)
	}
	moored := slices.Collect(e.moored.all())
	e.mu.Unlock()
	for _, k := range moored {
		k.abort()
	}
	late := time.NewTimer(2 * lastWords)
	defer late.Stop()
	select {
	case <-e.drained:
	case <-late.C:
		e.log.Warn("leaving although requests are still being worked on")
	}
}

func (e *Endpoint) finishSessions() {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.sessions))
	e.mu.Unlock()
	for _, s := range all {
		s.finish(errLeaving)
	}
}

var errReplaced = errors.New("another stream of the session has taken over")
