package transport

import (
	"context"
	"errors"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// wireError says what an error looks like on the wire. It is the only place where an error becomes a code, with
// [listen.ErrorOf], which it leaves to say what every service of listens says. What neither knows becomes a bare internal
// error, because a cause may name a path of the host; the caller logs it.
func wireError(err error, modern bool) (e *jsonrpc.Error, known bool) {
	var (
		absent   *mcp.NotFoundError
		tooLarge *mcp.TooLargeError
		failed   *mcp.ReadError
	)
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.As(err, &absent):
		// "servers MUST return a JSON-RPC error with code -32602" (server/resources, "Error Handling"), and a modern
		// answer MUST NOT have the code of the earlier revisions (basic/index, "Error Codes").
		code := jsonrpc.InvalidParams
		if !modern {
			code = mcp.LegacyResourceNotFound
		}
		return &jsonrpc.Error{
			Code:    code,
			Message: "resource not found: nothing is served under this URI, resources/list names what is",
			Data:    uriData{absent.URI},
		}, true
	case errors.Is(err, mcp.ErrBadCursor):
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params: cursor is not one this server handed out, list again without it"), true
	case errors.As(err, &tooLarge):
		return &jsonrpc.Error{
			Code:    jsonrpc.InternalError,
			Message: tooLarge.Error(),
			Data:    sizeData{tooLarge.URI, tooLarge.Size, tooLarge.Limit},
		}, true
	case errors.As(err, &failed):
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: failed.Error(), Data: uriData{failed.URI}}, true
	case errors.Is(err, errLeaving):
		return listen.ErrorOf(listen.ErrShutdown)
	default:
		return listen.ErrorOf(err)
	}
}

// causeOf is why ctx has ended, if an error says no more than that it has.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// errLeaving is why the work on requests is abandoned at the end.
var errLeaving = errors.New("server is shutting down")

type uriData struct {
	URI string `json:"uri"`
}

type sizeData struct {
	URI   string `json:"uri"`
	Size  int64  `json:"size"`  // bytes
	Limit int64  `json:"limit"` // bytes
}
