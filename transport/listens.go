package transport

import (
	"context"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// openListen serves subscriptions/listen: it opens a stream whose messages c takes to the client, the acknowledgement
// first. It leaves out of the acknowledged filter what the server does not deliver and what is not served: the
// notifications field "reflects the subset the server agreed to honor" (basic/patterns/subscriptions,
// "Acknowledgment"). A stream may be opened although ctx ends meanwhile; the transport checks that once more.
func (s *Server) openListen(ctx context.Context, r *request, c listen.Carrier) (*listen.Stream, error) {
	asked, err := listen.ParseFilter(r.params["notifications"])
	if err != nil {
		return nil, invalid("%v", err)
	}
	if n := len(asked.ResourceSubscriptions); n > s.opts.MaxURIs {
		return nil, invalid("notifications.resourceSubscriptions has %d URIs, the limit is %d: subscribe to a directory, or open several listens",
			n, s.opts.MaxURIs)
	}
	honoured := listen.Filter{ResourcesListChanged: asked.ResourcesListChanged}
	var (
		subs []listen.Sub
		all  []string
	)
	for _, uri := range asked.ResourceSubscriptions {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		keys, err := s.cat.Resolve(uri)
		if err != nil {
			continue
		}
		honoured.ResourceSubscriptions = append(honoured.ResourceSubscriptions, uri)
		subs = subsOf(subs, uri, keys)
		all = append(all, keys...)
	}
	if len(all) > 0 {
		s.cat.Baseline(ctx, all)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.hub.Open(r.id.Raw(), honoured, subs, c, s.wire.info)
}

// subsOf appends one subscription for each key that uri can mean.
func subsOf(subs []listen.Sub, uri string, keys []string) []listen.Sub {
	for _, key := range keys {
		subs = append(subs, listen.Sub{Key: key, URI: uri})
	}
	return subs
}
