package listen

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
)

// Handler answers listens for a server that has events of its own. The usual shape of Listen is
//
//	honoured, err := p.Builtin(ctx, r.Filter) // delivered by the Source
//	if err != nil {
//		return err
//	}
//	honoured.Extensions = mine(r.Filter.Extensions) // delivered by the handler
//	sender, err := p.Acknowledge(honoured)
//	if err != nil || honoured.IsEmpty() {
//		return err // with nothing to wait for the listen is over
//	}
//	// Here sender.Notify and its like tell what is to be told.
//	<-ctx.Done()
//	return nil
//
// A handler that has nothing more to say waits for the end of ctx, since returning ends the listen, what the Source delivers
// included. Extensions are the handler's: Builtin leaves them to the Source, and a [URISource] ignores them.
type Handler interface {
	// Listen serves one subscription from the request until it is over, in a goroutine of its own. It acknowledges with p
	// what it honours, which gives it the Sender of everything else.
	//
	// ctx ends with the cause ErrCancelled when the client cancels or is gone, and with ErrShutdown when the server ends
	// the listen, which then completes by itself. It carries the values of the context that the listen was opened with.
	// What Listen returns after the end means nothing.
	//
	// Returning nil completes the listen in good order; one that was not acknowledged is acknowledged before that with
	// nothing honoured. Returning an error before the acknowledgement refuses the listen; afterwards it ends the listen,
	// with an error in place of the result. What the client is told of it ErrorOf says. What the Sender owes is said before
	// either.
	//
	// A panic ends this listen with an internal error, and nothing else: the other listens of the process are served on.
	// It is logged with its stack.
	Listen(ctx context.Context, r *Request, p *Pending) error
}

// HandlerFunc is a [Handler] in one function.
type HandlerFunc func(ctx context.Context, r *Request, p *Pending) error

// Listen implements [Handler].
func (f HandlerFunc) Listen(ctx context.Context, r *Request, p *Pending) error { return f(ctx, r, p) }

// Request is what a client asked for. The handler may change it: what may be acknowledged stays what was asked for.
type Request struct {
	ID     json.RawMessage // as the client spelled it
	Params json.RawMessage // as a whole, with _meta
	Filter Filter          // its notifications
}

// handled is what a stream has besides if a [Handler] answers it. It is guarded by Stream.mu, but for what says otherwise.
type handled struct {
	stop    context.CancelCauseFunc // ends the handler's context; not guarded, called without a lock
	pending bool                    // neither acknowledged nor refused yet
	cause   error                   // why nothing more is taken from the handler; nil while it is
	refusal error                   // what the handler returned in place of an acknowledgement
	failure []byte                  // the error member of the answer, nil if that is a result
	posts   []*post                 // in the order in which they were made

	returned bool // the handler has returned; guarded by Hub.mu
	lingers  bool // it had not when the stream was over; guarded by Hub.mu
}

// openHandled opens a stream without anything to say and starts the handler, which gives it that.
func (s *Service) openHandled(ctx context.Context, r *Request, c Carrier) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	stream, err := s.Hub.openHandled(r.ID, &handled{stop: stop, pending: true}, c, s.ServerInfo)
	if err != nil {
		stop(err)
		return nil, err
	}
	go s.handle(own, stream, r, &Pending{s: stream, service: s, asked: r.Filter.clone()})
	return stream, nil
}

// handle runs the handler and ends its stream, whatever the handler does.
func (s *Service) handle(ctx context.Context, stream *Stream, r *Request, p *Pending) {
	o := outcome{err: errNoReturn, failure: unknownFailure}
	defer func() {
		if o.err == errNoReturn {
			fault := recover()
			s.logger().Error("listen failed by a fault of its handler", "id", stream.id, "fault", fault, "stack", string(debug.Stack()))
		}
		stream.conclude(o)
	}()
	o = s.outcome(stream, s.Handler.Listen(ctx, r, p))
}

// outcome is what a handler has returned.
type outcome struct {
	err     error
	failure []byte // the error member of the answer, nil if there is no error
}

var (
	errNoReturn    = errors.New("the handler has panicked or ended its goroutine")
	unknownFailure = func() []byte {
		e, _ := ErrorOf(errNoReturn)
		return e.Encode()
	}()
)

// outcome encodes an error, where a panic of its data is still the handler's, and logs what has not a code of its own.
func (s *Service) outcome(stream *Stream, err error) outcome {
	if e, ok := err.(*Error); ok && e == nil {
		err = nil // of a function that returns an *Error, and none
	}
	if err == nil || stream.ended() {
		return outcome{}
	}
	e, _ := ErrorOf(err)
	if !errors.As(err, new(*Error)) {
		s.logger().Error("listen failed", "id", stream.id, "err", err)
	}
	return outcome{err: err, failure: e.Encode()}
}

// conclude ends a stream whose handler has returned. Nothing is to be said of that if it has ended before.
func (s *Stream) conclude(o outcome) {
	h := s.handled
	s.mu.Lock()
	if h.cause == nil {
		h.failure = o.failure
		if h.pending && o.err != nil {
			h.pending, h.refusal = false, o.err
		}
	}
	wake := s.finishLocked(ErrEnded)
	s.mu.Unlock()
	h.stop(ErrEnded)
	if wake {
		s.carrier.Wake(s)
	}
	s.hub.release(s)
}

// ended reports whether nothing more is taken from the handler. It may learn that from its Sender before its context ends.
func (s *Stream) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handled.cause != nil
}

// acceptsLocked is why a listen is not acknowledged any more, nil if it can be.
func (h *handled) acceptsLocked() error {
	switch {
	case h.cause != nil:
		return h.cause
	case !h.pending:
		return ErrAcknowledged
	}
	return nil
}

// closeLocked takes nothing more from the handler. What waits to be handed out is withdrawn.
func (h *handled) closeLocked(cause error) {
	if h.cause != nil {
		return
	}
	h.cause = cause
	for _, p := range h.posts {
		p.settle(cause)
	}
	h.posts = nil
}

// Pending reports whether the stream's handler has neither acknowledged nor refused the listen, so that Next has nothing
// to hand out yet.
func (s *Stream) Pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handled != nil && s.handled.pending && !s.over
}

// Refused is the error with which the stream's handler refused the listen, nil if it did not: for transports that tell more
// by a status. Next hands out the answer that is made of it, and nothing else.
func (s *Stream) Refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handled == nil {
		return nil
	}
	return s.handled.refusal
}
