package transport

import (
	"context"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// openListen serves subscriptions/listen: it opens a stream whose messages c takes to the client, the acknowledgement
// first. A stream may be opened although ctx ends meanwhile; the transport checks that once more.
func (s *Server) openListen(ctx context.Context, r *request, c listen.Carrier) (*listen.Stream, error) {
	asked, err := listen.ParseFilter(r.params.Get("notifications"))
	if err != nil {
		return nil, invalid("%v", err)
	}
	return s.listens.OpenRequest(ctx, &listen.Request{ID: r.id.Raw(), Params: r.raw, Filter: asked}, c)
}

// source is what of a catalogue can be listened to.
type source struct{ cat Catalogue }

// Honour implements [listen.Source]. It leaves out what the server does not deliver and what is not served: the
// notifications field "reflects the subset the server agreed to honor" (basic/patterns/subscriptions, "Acknowledgment").
func (s source) Honour(ctx context.Context, asked listen.Filter) (honoured listen.Filter, subs []listen.Sub, err error) {
	honoured.ResourcesListChanged = asked.ResourcesListChanged
	var all []string
	for _, uri := range asked.ResourceSubscriptions {
		if ctx.Err() != nil {
			return listen.Filter{}, nil, ctx.Err()
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
	return honoured, subs, ctx.Err()
}

// subsOf appends one subscription for each key that uri can mean.
func subsOf(subs []listen.Sub, uri string, keys []string) []listen.Sub {
	for _, key := range keys {
		subs = append(subs, listen.Sub{Key: key, URI: uri})
	}
	return subs
}
