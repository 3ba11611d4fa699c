package transport

import (
	"errors"
	"net/http"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// statusError is an error that has a status of its own, in either era.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// refused makes the error of a request that HTTP rules out.
func refused(status int, format string, args ...any) error {
	return &statusError{status, jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: "+format, args...)}
}

// Overload has a status, since one that travels in an answer with status 200 is not seen by those who watch a server.
var (
	errBusy             = overload("the server has as many requests as it takes: try again later")
	errBodies           = overload("the bodies of all requests fill the memory that there is for them: try again later")
	errClientBodies     = overload("the bodies of this client's requests fill the memory that one may have: send fewer long ones at a time or try again later")
	errTooManyExchanges = overload("this client has as many requests and listens under way as one may have: try again later")
	errTooManyListens   = overload("this client has as many listens and sessions as one may have: cancel one or try again later")
)

func overload(text string) error {
	return &statusError{http.StatusServiceUnavailable, jsonrpc.Errorf(jsonrpc.InternalError, "%s", text)}
}

// httpStatus says with which status an error travels. In the legacy eras an error is an answer like any other, since their
// clients take 404 for the end of the session. In the modern one what is wrong with the request as such has a status of its
// own (basic/transports/streamable-http), what is wrong with the resource has not.
func httpStatus(err error, modern bool) int {
	var (
		own      *statusError
		refused  *jsonrpc.Error
		absent   *mcp.NotFoundError
		tooLarge *mcp.TooLargeError
		failed   *mcp.ReadError
	)
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.Is(err, listen.ErrTooManyStreams), errors.Is(err, listen.ErrShutdown), errors.Is(err, errLeaving):
		return http.StatusServiceUnavailable
	case !modern:
		return http.StatusOK
	case errors.As(err, &absent), errors.As(err, &tooLarge), errors.As(err, &failed), errors.Is(err, mcp.ErrBadCursor):
		return http.StatusOK
	case !errors.As(err, &refused):
		return http.StatusInternalServerError
	case refused.Code == jsonrpc.MethodNotFound:
		return http.StatusNotFound
	case refused.Code == jsonrpc.InternalError:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}
