package resources

import "github.com/mcp-fsserve/mcp-fsserve/internal/mcp"

// What a [Catalogue] is given and hands out.
type (
	// Resource is an entry of a list: URI, Name, MIMEType, Size in bytes, and Annotations.
	Resource = mcp.Resource
	// Annotations are hints for clients: LastModified, in RFC 3339, empty if it is not known.
	Annotations = mcp.Annotations
	// ResourceTemplate is an entry of the list of templates: URITemplate, Name, Title and Description.
	ResourceTemplate = mcp.ResourceTemplate
	// ReadOptions are what a reader brings along, all of it optional. Reserve waits until there is memory for so many bytes.
	// Measure says how many bytes a block of a text takes where it goes, which Body.Measured adds up.
	ReadOptions = mcp.ReadOptions
	// Contents is what one resource held when it was read: URI, as it was asked for, MIMEType, and Data or, if that is too large
	// to be held, Body. Text says whether it is valid UTF-8. Its reader calls Close.
	Contents = mcp.Contents
	// Body is what is too large to be held, to be had again block by block: Block(i) returns one of as many as Blocks says, as it
	// was when it was read, and valid until the next call. Size is that of all, in bytes. Its reader calls Close, or that of the
	// Contents.
	Body = mcp.Body
	// Completion is what a value can become: Values, of Total that there are, and HasMore if these are not all.
	Completion = mcp.Completion
)

// Errors of a [Catalogue].
type (
	// NotFoundError reports a URI behind which there is nothing, or nothing that is served: it does not say which.
	NotFoundError = mcp.NotFoundError
	// TooLargeError reports a resource of Size bytes, which are more than the Limit.
	TooLargeError = mcp.TooLargeError
	// ReadError reports a resource that cannot be read, for a Reason that names no path of the host.
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
