package mcp

import (
	"errors"
	"fmt"
)

// ErrBadCursor reports a cursor that no page handed out.
var ErrBadCursor = errors.New("invalid cursor")

// ErrUnknownTemplate reports a URI template that is not one of the catalogue.
var ErrUnknownTemplate = errors.New("unknown resource template")

// ErrChanged reports that a [Body] is not what it was any more.
var ErrChanged = errors.New("resource has changed since it was read")

// NotFoundError reports that nothing is served under a URI. It never says why: what is hidden, refused or absent looks
// the same.
type NotFoundError struct {
	URI string // the client's spelling
}

func (e *NotFoundError) Error() string { return "resource not found" }

// TooLargeError reports content above the limit; nothing of it was read.
type TooLargeError struct {
	URI         string
	Size, Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("resource is too large: %d bytes, the limit is %d", e.Size, e.Limit)
}

// ReadError reports a resource that exists and could not be read. Reason holds no path of the host.
type ReadError struct {
	URI    string
	Reason string
}

func (e *ReadError) Error() string { return "resource cannot be read: " + e.Reason }
