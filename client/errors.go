package client

import (
	"errors"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// Errors of [Event.Err] and of the methods of [Client].
var (
	// ErrStopped reports that Run has returned, or that it was called twice.
	ErrStopped = errors.New("the client has stopped")
	// ErrStalled reports a server that did not answer, did not acknowledge or was not heard of in time.
	ErrStalled = errors.New("the server has stalled")
	// ErrEnded reports a server that ended a listen, or left.
	ErrEnded = errors.New("the server ended")
	// ErrNotRead reports a resource that is not followed, whose contents are not kept, or that was not read yet.
	ErrNotRead = errors.New("the resource was not read")
	// ErrVersion reports a server that speaks no revision that this package does.
	ErrVersion = errors.New("the server speaks no revision of the protocol that this client knows")
)

// Error is what a server answered in place of a result: Code, Message and Data (basic/index, "Error Responses").
type Error = jsonrpc.Error

// StatusError is an answer over HTTP that is no message, such as one from a proxy, or one that asks for a token: Status, the
// beginning of its Body, the Challenge of WWW-Authenticate, and RetryAfter, if the server asks for that.
type StatusError = wire.StatusError
