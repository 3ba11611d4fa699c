package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// httpSession is a legacy session over HTTP. Its stream outlives the answers to GET that carry it: what changes while none
// is open stays owed.
type httpSession struct {
	*session
	e      *Endpoint
	id     string
	owner  string // whose token opened it; nobody else's is admitted to it
	client string // as whom it is counted
	wake   bell   // of its stream, while an exchange carries that

	// socket carries its stream while an answer to GET has taken its connection over, else it is nil.
	socket atomic.Pointer[socket]

	// Each has a buffer of 1, is never closed, and holds a token while somebody
	turn  chan struct{} // serves an ordered request
	voice chan struct{} // pulls from the stream, and owns unsent

	unsent []byte // what the last answer to GET could not send

	// Guarded by Endpoint.mu.
	uses    int         // exchanges
	since   time.Time   // when that became 0
	idle    *time.Timer // runs while it is 0
	carried bearer      // the latest GET, while it lasts
	calls   map[*sessionCall]struct{}
	over    bool
}

// bearer is an answer to GET: an exchange, or a socket that has taken its connection over.
type bearer interface {
	// interrupt ends the answer in good order, soon. The caller holds Endpoint.mu.
	interrupt(cause error)
}

// Wake implements [listen.Carrier].
func (s *httpSession) Wake(stream *listen.Stream) {
	if k := s.socket.Load(); k != nil {
		k.Wake(stream)
		return
	}
	signal(s.wake)
}

// sessionCall is a request of a session that is worked on.
type sessionCall struct {
	key  string // of its id
	stop context.CancelCauseFunc
}

// errCancelled is why work ends that a notification has cancelled.
var errCancelled = errors.New("the client has cancelled the request")

// errSessionOver is why the work and the stream of a session end with it.
var errSessionOver = jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: the session has ended")

// errNoSession answers a request of a session that is none: "it MUST respond to requests containing that session ID with HTTP
// 404 Not Found", upon which the client "MUST start a new session" (2025-11-25, basic/transports, "Session Management").
var errNoSession = refused(http.StatusNotFound, "Mcp-Session-Id names no session, it may have ended: initialize anew, without the header")

// session finds the session that the request names, and keeps it from being idle until its leave. It is nil if none is
// named; the error is for legacy requests.
func (x *exchange) session() (*httpSession, error) {
	values := x.r.Header[headerSession]
	if len(values) == 0 {
		return nil, nil
	}
	e := x.e
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[values[0]]
	if s == nil || s.owner != x.owner || len(values) > 1 {
		return nil, errNoSession
	}
	s.uses++
	s.idle.Stop()
	return s, nil
}

// leave ends one use of a session.
func (s *httpSession) leave() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.leaveLocked()
}

func (s *httpSession) leaveLocked() {
	if s.uses--; s.uses == 0 && !s.over {
		s.since = time.Now()
		s.idle.Reset(s.e.opts.SessionTimeout)
	}
}

// initialize opens a session and names it.
func (x *exchange) initialize(r *request) {
	version, err := negotiate(r.params)
	if err != nil {
		x.refuse(r.id, err, false)
		return
	}
	s, err := x.openSession(version)
	if err != nil {
		x.refuse(r.id, err, false)
		return
	}
	defer s.leave()
	x.w.Header().Set(headerSession, s.id)
	if x.answer(http.StatusOK, x.e.s.appendInitialized(nil, r, version)) != nil {
		s.finish(errSessionOver) // nobody knows its name
	}
}

// openSession opens a session in use.
func (x *exchange) openSession(version string) (*httpSession, error) {
	e := x.e
	if err := e.addListen(x.client); err != nil {
		return nil, err
	}
	s := &httpSession{
		// "globally unique and cryptographically secure", "visible ASCII": 130 bits in base32.
		e: e, id: rand.Text(), owner: x.owner, client: x.client, wake: make(bell, 1),
		turn: make(chan struct{}, 1), voice: make(chan struct{}, 1),
		uses: 1, calls: map[*sessionCall]struct{}{},
	}
	var err error
	if s.session, err = e.s.openSession(version, s); err != nil {
		e.dropListen(x.client)
		return nil, err
	}
	s.idle = time.AfterFunc(e.opts.SessionTimeout, s.expire)
	s.idle.Stop()
	e.mu.Lock()
	e.sessions[s.id] = s
	closing := e.closing
	e.mu.Unlock()
	if closing {
		s.finish(errLeaving)
		return nil, errLeaving
	}
	return s, nil
}

// expire ends a session that is idle. A timer may fire just when it is stopped, so that the time decides.
func (s *httpSession) expire() {
	s.end(errSessionOver, func() bool { return s.uses == 0 && time.Since(s.since) >= s.e.opts.SessionTimeout })
}

// finish ends a session: its stream, and the work on its requests.
func (s *httpSession) finish(cause error) { s.end(cause, func() bool { return true }) }

func (s *httpSession) end(cause error, ifLocked func() bool) {
	e := s.e
	e.mu.Lock()
	if s.over || !ifLocked() {
		e.mu.Unlock()
		return
	}
	s.over = true
	delete(e.sessions, s.id)
	s.idle.Stop()
	e.dropListenLocked(s.client)
	for c := range s.calls {
		c.stop(cause)
	}
	if s.carried != nil {
		s.carried.interrupt(cause)
	}
	e.mu.Unlock()
	s.stream.Cancel()
}

// get opens the stream of a session. A second one takes the place of the first, which may be one that the client has lost
// and the server not yet.
func (x *exchange) get() {
	s, ok := x.ownSession()
	if !ok {
		return
	}
	defer func() {
		if !x.taken {
			s.leave()
		}
	}()
	if !accepts(x.r, typeEvents) {
		x.refuse(jsonrpc.ID{}, errNotAcceptable(typeEvents), false)
		return
	}
	s.replace(x)
	defer func() {
		if !x.taken {
			s.hand(x)
		}
	}()
	select {
	case s.voice <- struct{}{}:
		defer func() {
			if !x.taken {
				<-s.voice
			}
		}()
		x.e.carry(x, s.stream)
		if !x.takeOver(x.e.sockets.newSocketOf(s), s.stream) {
			s.unsent = x.pump(s.stream, s.wake, s.unsent)
		}
	case <-x.ctx.Done(): // replaced itself meanwhile
		x.openEvents()
	}
}

// replace makes an exchange the one that carries the stream, and ends the one before it.
func (s *httpSession) replace(x *exchange) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.carried != nil {
		s.carried.interrupt(errReplaced)
	}
	s.carried = x
}

// hand says that somebody no longer carries the stream.
func (s *httpSession) hand(b bearer) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.handLocked(b)
}

func (s *httpSession) handLocked(b bearer) {
	if s.carried == b {
		s.carried = nil
	}
}

// moorLocked has a socket carry the stream in place of its exchange, unless that was replaced.
func (s *httpSession) moorLocked(x *exchange, k *socket) {
	if s.carried == x {
		s.carried = k
	}
}

// yield has a socket carry the stream no longer.
func (s *httpSession) yield(k *socket) {
	s.socket.Store(nil)
	<-s.voice
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.handLocked(k)
	s.leaveLocked()
}

// delete ends a session, as the client asks for.
func (x *exchange) delete() {
	s, ok := x.ownSession()
	if !ok {
		return
	}
	defer s.leave()
	s.finish(errSessionOver)
	_ = x.answer(http.StatusNoContent, nil)
}

// ownSession is the session of a GET or DELETE, which without one are none of this endpoint's: the modern era has neither.
func (x *exchange) ownSession() (*httpSession, bool) {
	h := x.r.Header
	if len(h[headerSession]) == 0 || isModernHeader(h) {
		x.refuseMethod("OPTIONS, POST")
		return nil, false
	}
	err := checkLegacyVersion(h)
	var s *httpSession
	if err == nil {
		s, err = x.session()
	}
	if err != nil {
		x.refuse(jsonrpc.ID{}, err, false)
		return nil, false
	}
	return s, true
}
