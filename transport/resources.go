package transport

import (
	"context"
	"errors"

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
	dst = append(s.openResult(newLeaf(dst), r), `"resources":[`...)
	entries := entryEncoder{dst: dst, dated: hasTitles(r.version)}
	next, err := s.cat.List(ctx, from, entries.add)
	if err != nil {
		return nil, err
	}
	dst = append(entries.dst, ']')
	dst = appendMember(dst, "nextCursor", next)
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
	const attempts = 5
	for range attempts {
		var out []byte
		if out, err = s.appendRead(ctx, r, uri, dst); !errors.Is(err, mcp.ErrChanged) {
			return out, err
		}
	}
	return nil, &mcp.ReadError{URI: uri, Reason: "it is written to all the time, ask again"}
}

// appendRead appends the result of a read. The error is mcp.ErrChanged if a large file did not stay as it was.
func (s *Server) appendRead(ctx context.Context, r *request, uri string, dst []byte) ([]byte, error) {
	c, size, err := s.read(ctx, r, uri)
	if err != nil {
		return nil, err
	}
	dst = append(s.openResult(dst, r), `"contents":[`...)
	if c.Body != nil && r.rest != nil {
		if dst, err = r.rest.begin(dst, &c, size); err != nil {
			return nil, err
		}
		return s.closeResult(append(dst, `"}]`...), r), nil
	}
	defer c.Close()
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

// read reads a resource, of which the text or blob takes size bytes on the wire, and has the memory for that: who waits for it
// holds neither content nor an open file, and reads again.
func (s *Server) read(ctx context.Context, r *request, uri string) (c mcp.Contents, size int64, err error) {
	opts := mcp.ReadOptions{Measure: jsonrpc.EscapedLen}
	if r.memory != nil {
		opts.Reserve = r.memory.reserve
	}
	for {
		if c, err = s.cat.Read(ctx, uri, &opts); err != nil {
			return c, 0, err
		}
		if size, err = encodedLen(ctx, &c); err != nil {
			return c, 0, err
		}
		switch {
		case r.memory == nil, c.Body != nil && r.rest != nil:
			return c, size, nil
		case c.Body == nil:
			if r.memory.suffices(len(c.Data), size) {
				return c, size, nil
			}
			c = mcp.Contents{}
		case r.memory.covers(size):
			return c, size, nil
		default:
			c.Close()
			if err = r.memory.await(ctx, size); err != nil {
				return c, 0, err
			}
		}
	}
}

// requiredURI is the URI that a request must name. One that cannot be repeated names nothing.
func requiredURI(p params) (string, error) {
	uri, err := p.required("uri", "uri", "name the resource")
	if err == nil && !jsonrpc.IsText(p.Get("uri")) {
		err = invalid("uri has an escape that is half of a character")
	}
	return uri, err
}
