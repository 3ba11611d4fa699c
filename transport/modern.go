package transport

import (
	"context"
	"strconv"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// preset holds what the results of a server have in common, encoded once.
type preset struct {
	discover []byte // the result of server/discover
	tail     []byte // the end of a modern result that may be cached
	uncached []byte // the end of one that may not
	info     []byte // serverInfo
}

// appendCapabilities encodes those delivered in a revision, nothing else. The one for completions came with 2025-03-26; the
// method is older.
func appendCapabilities(dst []byte, version string) []byte {
	dst = append(dst, `{"resources":{"subscribe":true,"listChanged":true}`...)
	if version >= mcp.Legacy20250326 {
		dst = append(dst, `,"completions":{}`...)
	}
	return append(dst, '}')
}

// appendImplementation encodes the name of a server or client.
func appendImplementation(dst []byte, i mcp.Implementation) []byte {
	dst = append(dst, `{"name":`...)
	dst = jsonrpc.AppendString(dst, i.Name)
	dst = appendMember(dst, "title", i.Title)
	dst = append(dst, `,"version":`...)
	dst = jsonrpc.AppendString(dst, i.Version)
	return append(dst, '}')
}

// discoverTTL is how long what server/discover says stays fresh: it changes only with the program.
const discoverTTL = time.Hour

func newPreset(o *Options) preset {
	d := []byte(`{"resultType":"complete","supportedVersions":`)
	d = appendStrings(d, mcp.SupportedVersions())
	d = appendCapabilities(append(d, `,"capabilities":`...), mcp.Modern)
	d = jsonrpc.AppendString(append(d, `,"instructions":`...), o.Instructions)
	info := appendImplementation(nil, o.Info)
	return preset{
		discover: appendTail(d, discoverTTL, info),
		tail:     appendTail(nil, o.TTL, info),
		uncached: appendMeta(nil, info),
		info:     info,
	}
}

// appendTail ends a result object with the caching hints that "Servers MUST include" on what may be cached
// (server/utilities/caching) and the name of the server. The scope is the same for all pages of a list, and private:
// what is served may depend on who asks.
func appendTail(dst []byte, ttl time.Duration, info []byte) []byte {
	dst = append(dst, `,"ttlMs":`...)
	dst = strconv.AppendInt(dst, ttl.Milliseconds(), 10)
	dst = append(dst, `,"cacheScope":"private"`...)
	return appendMeta(dst, info)
}

// appendMeta ends a result object with the name of the server.
func appendMeta(dst, info []byte) []byte {
	dst = append(dst, `,"_meta":{"`+mcp.MetaServerInfo+`":`...)
	dst = append(dst, info...)
	return append(dst, `}}`...)
}

// openResult opens the result object; a member must follow. "Servers implementing this protocol version MUST include"
// resultType (basic/index, "ResultType"), legacy decoders do not know it.
func (s *Server) openResult(dst []byte, r *request) []byte {
	if r.modern {
		return append(dst, `{"resultType":"complete",`...)
	}
	return append(dst, '{')
}

// closeResult closes the result object of what may be cached.
func (s *Server) closeResult(dst []byte, r *request) []byte {
	if r.modern {
		return append(dst, s.wire.tail...)
	}
	return append(dst, '}')
}

// closeUncached closes the result object of what has no caching hints.
func (s *Server) closeUncached(dst []byte, r *request) []byte {
	if r.modern {
		return append(dst, s.wire.uncached...)
	}
	return append(dst, '}')
}

// discover serves server/discover.
func (s *Server) discover(_ context.Context, _ *request, dst []byte) ([]byte, error) {
	return append(dst, s.wire.discover...), nil
}
