package resources

import "github.com/mcp-fsserve/mcp-fsserve/internal/mcp"

// What a [Catalogue] is given and hands out.
type (
	// Resource is an entry of a list.
	Resource = mcp.Resource
	// ResourceTemplate is an entry of the list of templates.
	ResourceTemplate = mcp.ResourceTemplate
	// ReadOptions are what a reader brings along. A nil *ReadOptions is the default.
	ReadOptions = mcp.ReadOptions
	// Contents is what one resource held when it was read. Its reader closes it.
	Contents = mcp.Contents
	// Body is what is too large to be held, to be had again block by block.
	Body = mcp.Body
	// Completion is what can follow a value.
	Completion = mcp.Completion
)

// Errors of a [Catalogue].
type (
	// NotFoundError reports a URI behind which there is nothing, or nothing that is served.
	NotFoundError = mcp.NotFoundError
	// TooLargeError reports a resource that is larger than the limit.
	TooLargeError = mcp.TooLargeError
	// ReadError reports a resource that cannot be read.
	ReadError = mcp.ReadError
)

var (
	// ErrBadCursor reports a cursor that no page has handed out.
	ErrBadCursor = mcp.ErrBadCursor
	// ErrUnknownTemplate reports a template, or a variable of one, that there is not.
	ErrUnknownTemplate = mcp.ErrUnknownTemplate
	// ErrChanged reports a [Body] that is another one now.
	ErrChanged = mcp.ErrChanged
)
