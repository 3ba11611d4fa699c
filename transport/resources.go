package transport

import (
	"context"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// listResources serves resources/list.
func (s *Server) listResources(ctx context.Context, r *request, dst []byte) ([]byte, error) {
	// "an empty string is a valid cursor" (server/utilities/pagination), so presence decides.
	cursor, ok, err := r.params.text("cursor", "cursor")
	if err != nil {
		return nil, err
	}
	var from *string
	if ok {
		from = &cursor
	}
	page, err := s.cat.List(ctx, from)
	if err != nil {
		return nil, err
	}
	size := len(page.NextCursor) + len(s.wire.tail)
	for i := range page.Resources {
		size += usualLen(&page.Resources[i])
	}
	dst = append(s.openResult(slices.Grow(dst, size), r), `"resources":[`...)
	for i := range page.Resources {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendResource(dst, &page.Resources[i], r.version)
	}
	dst = append(dst, ']')
	dst = appendMember(dst, "nextCursor", page.NextCursor)
	return s.closeResult(dst, r), nil
}

// listTemplates serves resources/templates/list, which is one page.
func (s *Server) listTemplates(_ context.Context, r *request, dst []byte) ([]byte, error) {
	if err := onePage(r.params); err != nil {
		return nil, err
	}
	dst = append(s.openResult(dst, r), `"resourceTemplates":[`...)
	for i, t := range s.cat.Templates() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTemplate(dst, &t, r.version)
	}
	dst = append(dst, ']')
	return s.closeResult(dst, r), nil
}

// onePage refuses every cursor, since a list of one page hands out none.
func onePage(p params) error {
	_, ok, err := p.text("cursor", "cursor")
	if ok {
		return mcp.ErrBadCursor
	}
	return err
}

// readResource serves resources/read.
func (s *Server) readResource(ctx context.Context, r *request, dst []byte) ([]byte, error) {
	uri, err := requiredURI(r.params)
	if err != nil {
		return nil, err
	}
	var reserve func(context.Context, int64) error
	if r.memory != nil {
		reserve = r.memory.reserve
	}
	var (
		c    mcp.Contents
		size int
	)
	for {
		if c, err = s.cat.Read(ctx, uri, reserve); err != nil {
			return nil, err
		}
		if size, err = encodedLen(ctx, &c); err != nil {
			return nil, err
		}
		if r.memory == nil || r.memory.suffices(len(c.Data), size) {
			break
		}
		c = mcp.Contents{}
	}
	dst = append(s.openResult(dst, r), `"contents":[`...)
	// After the contents come the ends of their array, the result and the message, and a newline.
	if dst, err = appendContents(ctx, dst, &c, size, len("]}}\n")+len(s.wire.tail)); err != nil {
		return nil, err
	}
	dst = s.closeResult(append(dst, ']'), r)
	if r.memory != nil {
		c.Data = nil
		r.memory.shrink(int64(cap(dst)))
	}
	return dst, nil
}

// requiredURI is the URI that a request must name. One that cannot be repeated names nothing.
func requiredURI(p params) (string, error) {
	uri, err := p.required("uri", "uri", "name the resource")
	if err == nil && !jsonrpc.IsText(p["uri"]) {
		err = invalid("uri has an escape that is half of a character")
	}
	return uri, err
}
