package listen

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// Handler answers listens for a server that has events of its own.
type Handler interface {
	// Listen serves one subscription, from the request until it is over, in a goroutine of its own. It acknowledges with p
	// what it honours, which gives it the Sender of everything else.
	//
	// ctx ends with the cause ErrCancelled when the client cancels or is gone, and with ErrShutdown when the server ends
	// the listen, which then completes by itself. It carries the values of the context the listen was opened with. What
	// Listen returns after ctx has ended means nothing.
	//
	// Returning nil completes the listen in good order; one that was not acknowledged is acknowledged before that with
	// nothing honoured. Returning an error before the acknowledgement refuses the listen, afterwards it ends it with that
	// error in place of the result: see ErrorOf for what the client is told. In either case what is owed is said first.
	//
	// A panic ends this listen with an internal error, and nothing else: the other listens of the process are served on.
	// It is logged with its stack.
	Listen(ctx context.Context, r *Request, p *Pending) error
}

// HandlerFunc is a [Handler] in one function.
type HandlerFunc func(ctx context.Context, r *Request, p *Pending) error

// Listen implements [Handler].
func (f HandlerFunc) Listen(ctx context.Context, r *Request, p *Pending) error { return f(ctx, r, p) }

// Request is what a client asked for.
type Request struct {
	ID     json.RawMessage // as the client spelled it
	Params json.RawMessage // as a whole, with _meta; nil if there are none
	Filter Filter          // its notifications
}

// handled is what a stream has besides if a [Handler] answers it. It is guarded by Stream.mu, but for what says otherwise.
type handled struct {
	stop    context.CancelCauseFunc // ends the handler's context; not guarded, called without a lock
	pending bool                    // neither acknowledged nor refused yet
	cause   error                   // why nothing more is taken from the handler; nil while it is
	refusal error                   // what the handler returned in place of an acknowledgement
	failure *Error                  // the answer, in place of the result
	posts   posts

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
	go s.handle(own, stream, r, &Pending{s: stream, service: s, asked: r.Filter})
	return stream, nil
}

// handle runs the handler, whatever becomes of it, and ends its stream.
func (s *Service) handle(ctx context.Context, stream *Stream, r *Request, p *Pending) {
	err := errNoReturn
	defer func() {
		if err == errNoReturn {
			s.logger().Error("listen handler has not returned but panicked or ended its goroutine",
				"id", stream.id, "fault", recover(), "stack", string(debug.Stack()))
		}
		stream.conclude(err, s)
	}()
	err = s.Handler.Listen(ctx, r, p)
}

var errNoReturn = fmt.Errorf("the handler has not returned")

// conclude takes what a handler returned. It means nothing if the listen has ended before.
func (s *Stream) conclude(err error, service *Service) {
	h := s.handled
	var failure *Error
	known := true
	if err != nil {
		failure, known = ErrorOf(err)
	}
	s.mu.Lock()
	live := h.cause == nil
	wake := false
	if live {
		h.failure = failure
		if h.pending && err != nil {
			h.pending, h.refusal = false, err
		}
		wake = s.finishLocked(ErrEnded)
	}
	s.mu.Unlock()
	h.stop(ErrEnded)
	if live && !known && err != errNoReturn {
		service.logger().Error("listen failed", "id", s.id, "err", err)
	}
	if wake {
		s.carrier.Wake(s)
	}
	s.hub.release(s)
}

// closeLocked takes nothing more from the handler. What waits to be handed out is withdrawn.
func (h *handled) closeLocked(cause error) {
	if h.cause == nil {
		h.cause = cause
		h.posts.withdrawAll(cause)
	}
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
