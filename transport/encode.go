package transport

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// appendHead begins an answer. The id is left out if it could not be read (basic/index, "Error Responses").
func appendHead(dst []byte, id jsonrpc.ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id.IsZero() {
		return dst
	}
	dst = append(dst, `"id":`...)
	dst = append(dst, id.Raw()...)
	return append(dst, ',')
}

// appendError appends an error answer.
func appendError(dst []byte, id jsonrpc.ID, e *jsonrpc.Error) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `"error":`...)
	dst = append(dst, e.Encode()...)
	return append(dst, '}')
}

// appendTemplate encodes an entry of resources/templates/list for a revision.
func appendTemplate(dst []byte, t *mcp.ResourceTemplate, version string) []byte {
	dst = append(dst, `{"uriTemplate":`...)
	dst = jsonrpc.AppendString(dst, t.URITemplate)
	dst = append(dst, `,"name":`...)
	dst = jsonrpc.AppendString(dst, t.Name)
	if hasTitles(version) {
		dst = appendMember(dst, "title", t.Title)
	}
	dst = appendMember(dst, "description", t.Description)
	return append(dst, '}')
}

// encodedLen is the length of what a resource holds on the wire, as a string without its quotes. It ends with the error of ctx
// when that ends.
func encodedLen(ctx context.Context, c *mcp.Contents) (size int64, err error) {
	switch {
	case !c.Text && c.Body != nil:
		return (c.Body.Size() + 2) / 3 * 4, nil
	case !c.Text:
		return int64(base64.StdEncoding.EncodedLen(len(c.Data))), nil
	case c.Body != nil:
		return c.Body.Measured(), nil
	}
	for block := range slices.Chunk(c.Data, encodeBlock) {
		size += int64(jsonrpc.EscapedLen(block))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// appendContents encodes an entry of the contents of resources/read, with exactly one of text and blob, whose encodedLen is
// size. The room that is needed is made at once, with some for the rest of the message: a large one is copied neither to
// grow nor for its last bytes. It ends with the error of ctx when that ends, or that of a body.
func appendContents(ctx context.Context, dst []byte, c *mcp.Contents, size int64, rest int) ([]byte, error) {
	dst, encode := openContents(dst, c)
	dst = slices.Grow(dst, int(size)+len(`"}`)+rest)
	if c.Body != nil {
		for i := range c.Body.Blocks() {
			block, err := c.Body.Block(i)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			dst = encode(dst, block)
		}
	}
	for block := range slices.Chunk(c.Data, encodeBlock) {
		dst = encode(dst, block)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return append(dst, `"}`...), nil
}

// openContents begins an entry of the contents, up to where its text or blob is to be appended, by encode.
func openContents(dst []byte, c *mcp.Contents) (_ []byte, encode func(dst, block []byte) []byte) {
	dst = append(dst, `{"uri":`...)
	dst = jsonrpc.AppendString(dst, c.URI)
	dst = appendMember(dst, "mimeType", c.MIMEType)
	if c.Text {
		return append(dst, `,"text":"`...), jsonrpc.AppendEscaped
	}
	return append(dst, `,"blob":"`...), appendBase64
}

// encodeBlock is how many bytes are encoded before the context is looked at. Only the last block of base64 may be padded,
// so it is a multiple of three.
const encodeBlock = 3 << 18

// appendMember appends a further member with a string, nothing if that is empty.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return jsonrpc.AppendString(dst, value)
}

// appendStrings appends an array of strings.
func appendStrings(dst []byte, all []string) []byte {
	dst = append(dst, '[')
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(dst, s)
	}
	return append(dst, ']')
}
