package listen

import (
	"context"
	"errors"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// Why a listen is not opened, or is over. The last three are also the causes with which the context of a [Handler] ends.
var (
	ErrTooManyStreams = errors.New("too many listens are open")
	ErrShutdown       = errors.New("the server is shutting down")
	ErrCancelled      = errors.New("the client has cancelled the listen")
	ErrEnded          = errors.New("the listen has ended: its handler has returned")
)

// What a [Pending] and a [Sender] refuse is one of these, wrapped in what says which part of it is at fault.
var (
	// ErrNotAsked: the client did not ask for it, so that it may neither be acknowledged nor sent.
	ErrNotAsked = errors.New("the client did not ask for it")
	// ErrAcknowledged: a listen is acknowledged once.
	ErrAcknowledged = errors.New("the listen is acknowledged already")
	// ErrNotAcknowledged: only what was acknowledged may be sent.
	ErrNotAcknowledged = errors.New("it was not acknowledged")
	// ErrNotHere: the notification has no place on the stream of a listen.
	ErrNotHere = errors.New("it is not sent on the stream of a listen")
)

// Error is the error member of an answer: a code, a message for people and optional data. A [Handler] that returns one
// decides what the client is told.
type Error = jsonrpc.Error

// InvalidParams makes the error for parameters that cannot be served, code -32602.
func InvalidParams(format string, args ...any) *Error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params: "+format, args...)
}

// ErrorOf says what the client is told of an error with which a listen was refused or has failed: an [*Error] as it is,
// errors of this package and of contexts in words of their own. known is false for any other: that becomes a bare
// internal error, because it may name what is no business of the client's, and is for the server's log.
func ErrorOf(err error) (e *Error, known bool) {
	switch {
	case errors.As(err, &e) && e != nil:
		return e, true
	case errors.Is(err, ErrTooManyStreams):
		return jsonrpc.Errorf(jsonrpc.InternalError, "too many listens and sessions are open: cancel one or try again later"), true
	case errors.Is(err, ErrShutdown):
		return jsonrpc.Errorf(jsonrpc.InternalError, "the server is shutting down: ask again after it has restarted"), true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return jsonrpc.Errorf(jsonrpc.InternalError, "the request was abandoned"), true
	default:
		return jsonrpc.Errorf(jsonrpc.InternalError, "internal error: the server's log has the cause"), false
	}
}
