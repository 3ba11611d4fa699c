package transport

import (
	"slices"
	"strconv"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// entryEncoder appends the entries of resources/list, with commas between them.
type entryEncoder struct {
	dst   []byte
	dated bool // the revision knows annotations.lastModified
	begun bool // there is an entry

	mimeType string // of the entry before
	typed    []byte // how its members after the name begin, up to the size
}

func (e *entryEncoder) add(r *mcp.Resource) {
	dst := e.dst
	if cap(dst)-len(dst) < usualLen(r) {
		dst = slices.Grow(dst, max(len(dst), usualLen(r))) // a page that grew by less would be copied often
	}
	if e.begun {
		dst = append(dst, ',')
	}
	e.begun = true
	dst = append(dst, `{"uri":`...)
	dst = jsonrpc.AppendString(dst, r.URI)
	dst = append(dst, `,"name":`...)
	dst = jsonrpc.AppendString(dst, r.Name)
	if e.typed == nil || r.MIMEType != e.mimeType {
		e.mimeType = r.MIMEType
		e.typed = append(appendMember(e.typed[:0], "mimeType", r.MIMEType), `,"size":`...)
	}
	dst = append(dst, e.typed...)
	dst = strconv.AppendInt(dst, r.Size, 10)
	if date := r.Annotations.LastModified; date != "" && e.dated {
		dst = append(dst, `,"annotations":{"lastModified":`...)
		dst = jsonrpc.AppendString(dst, date)
		dst = append(dst, '}')
	}
	e.dst = append(dst, '}')
}

// usualLen is about how many bytes an entry takes, more unless something has to be escaped.
func usualLen(r *mcp.Resource) int {
	const most = len(`,{"uri":"","name":"","mimeType":"","size":1234567890123,"annotations":{"lastModified":"2006-01-02T15:04:05Z"}}`)
	return most + len(r.URI) + len(r.Name) + len(r.MIMEType)
}
