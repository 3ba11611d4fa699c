package transport

import (
	"context"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// session is what initialize opened: a negotiated revision and one untagged stream, whose subscriptions
// resources/subscribe edits.
type session struct {
	version string
	stream  *listen.Stream

	lane lane // its ordered requests, in the order of arrival
}

// batches reports whether the session's revision has batches: 2025-03-26 demands them (basic/index, "Batching"), no
// other knows them.
func (s *session) batches() bool { return s != nil && s.version == mcp.Legacy20250326 }

// negotiate checks the parameters of initialize and picks the revision: "If the server supports the requested protocol
// version, it MUST respond with the same version. Otherwise, the server MUST respond with another" (2025-11-25,
// basic/lifecycle, "Version Negotiation").
func negotiate(p params) (version string, err error) {
	version, ok, err := p.text("protocolVersion", "protocolVersion")
	if err != nil {
		return "", err
	}
	if !ok {
		return "", invalid("protocolVersion is missing: name the latest revision the client speaks, such as %q", mcp.Legacy20251125)
	}
	if raw := p.Get("capabilities"); raw != nil && raw[0] != '{' {
		return "", invalid("capabilities must be an object")
	}
	if err := checkImplementation(p, "clientInfo", "clientInfo"); err != nil {
		return "", err
	}
	if slices.Contains(mcp.LegacyVersions(), version) {
		return version, nil
	}
	return mcp.Legacy20251125, nil
}

// openSession opens the stream of a new session. list_changed needs no opt-in in the legacy eras.
func (s *Server) openSession(version string, c listen.Carrier) (*session, error) {
	stream, err := s.hub.Open(nil, listen.Filter{ResourcesListChanged: true}, nil, c, nil)
	if err != nil {
		return nil, err
	}
	return &session{version: version, stream: stream}, nil
}

// appendInitialized appends the whole answer to an initialize that negotiated version.
func (s *Server) appendInitialized(dst []byte, r *request, version string) []byte {
	info := s.opts.Info
	if !hasTitles(version) {
		info.Title = ""
	}
	dst = appendHead(dst, r.id)
	dst = append(dst, `"result":{"protocolVersion":`...)
	dst = jsonrpc.AppendString(dst, version)
	dst = appendCapabilities(append(dst, `,"capabilities":`...), version)
	dst = appendImplementation(append(dst, `,"serverInfo":`...), info)
	dst = jsonrpc.AppendString(append(dst, `,"instructions":`...), s.opts.Instructions)
	return append(dst, `}}`...)
}

// hasTitles reports whether a revision knows title and annotations.lastModified: both came with 2025-06-18.
func hasTitles(version string) bool { return version >= mcp.Legacy20250618 }

func (s *Server) ping(_ context.Context, _ *request, dst []byte) ([]byte, error) {
	return append(dst, "{}"...), nil
}

// subscribe serves resources/subscribe.
func (s *Server) subscribe(ctx context.Context, r *request, dst []byte) ([]byte, error) {
	uri, err := requiredURI(r.params)
	if err != nil {
		return nil, err
	}
	keys, err := s.cat.Resolve(uri)
	if err != nil {
		return nil, err
	}
	if stream := r.session.stream; stream.URIs() >= s.opts.MaxURIs && !stream.Has(uri) {
		return nil, invalid("the session is subscribed to %d URIs, the limit: unsubscribe from some, or subscribe to a directory", s.opts.MaxURIs)
	}
	s.cat.Baseline(ctx, keys)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.session.stream.Add(subsOf(nil, uri, keys)...)
	return append(dst, "{}"...), nil
}

// unsubscribe serves resources/unsubscribe. What is not subscribed needs no error.
func (s *Server) unsubscribe(_ context.Context, r *request, dst []byte) ([]byte, error) {
	uri, err := requiredURI(r.params)
	if err != nil {
		return nil, err
	}
	r.session.stream.Remove(uri)
	return append(dst, "{}"...), nil
}

func (s *Server) listTools(_ context.Context, r *request, dst []byte) ([]byte, error) {
	return append(dst, `{"tools":[]}`...), onePage(r.params)
}

func (s *Server) listPrompts(_ context.Context, r *request, dst []byte) ([]byte, error) {
	return append(dst, `{"prompts":[]}`...), onePage(r.params)
}
