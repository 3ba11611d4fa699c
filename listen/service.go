package listen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// Source knows which of the events that are published to a [Hub] a listen gets.
type Source interface {
	// Honour returns what of asked is delivered, and for each of its URIs, in the client's spelling, at least one Sub:
	// the keys under which it is published. What it leaves out is left out of the acknowledgement. An error refuses the
	// listen; that of a listen whose ctx has ended is not seen by anybody. It changes nothing in asked.
	Honour(ctx context.Context, asked Filter) (honoured Filter, subs []Sub, err error)
}

// URISource is a [Source] for servers that publish the URIs of their resources as keys. Each URI that a listen asks for is
// honoured, unless Has says no; a list is honoured if its field here is true. So the zero value honours every URI and no list.
type URISource struct {
	// Whether the server publishes the changes of that list: [Change].List, Tools and Prompts. They are named as in [Filter].
	ResourcesListChanged, ToolsListChanged, PromptsListChanged bool
	// Has reports whether there is such a resource, or a container of some. It may be called from several goroutines at
	// once. Nil: there is, whatever the URI.
	Has func(uri string) bool
}

// Honour implements [Source].
func (u URISource) Honour(_ context.Context, asked Filter) (honoured Filter, subs []Sub, err error) {
	honoured.ResourcesListChanged = asked.ResourcesListChanged && u.ResourcesListChanged
	honoured.ToolsListChanged = asked.ToolsListChanged && u.ToolsListChanged
	honoured.PromptsListChanged = asked.PromptsListChanged && u.PromptsListChanged
	for _, uri := range asked.ResourceSubscriptions {
		if u.Has == nil || u.Has(uri) {
			honoured.ResourceSubscriptions = append(honoured.ResourceSubscriptions, uri)
			subs = append(subs, Sub{Key: strings.TrimSuffix(uri, "/"), URI: uri})
		}
	}
	return honoured, subs, nil
}

// Service is what a transport opens listens with: a hub, what is heard from it, and whoever answers. Its fields are not
// to be changed once it is in use.
type Service struct {
	Hub *Hub
	// Source says what the server's own events are. Nil: there are none, so that without a Handler too nothing is honoured,
	// and each listen is completed as soon as it is acknowledged.
	Source Source
	// Handler answers each listen, in a goroutine of its own: one that waits takes some 5 KiB more. Nil: the Source alone
	// does.
	Handler Handler
	// ServerInfo is the compact JSON object that names the server in completion results. Nil leaves it out.
	ServerInfo json.RawMessage
	// MaxURIs is how many different URIs one listen may ask for. Zero: 10,000. Negative: any number.
	MaxURIs int
	// Logger receives the causes of internal errors, which clients never see, and the panics of handlers. Nil:
	// [slog.Default].
	Logger *slog.Logger
}

// Open starts a stream for a listen request with the params given, which must name notifications. ctx bounds the
// opening only; its values are those of the handler's context. Afterwards the transport ends the stream with
// [Stream.Cancel] or [Stream.Complete], one of which must be called.
//
// params are not changed afterwards by anybody: a handler may look at them at any time. An [*Error] says what is wrong with
// the request. Other errors are those of [Hub.Open], of ctx and of the Source.
func (s *Service) Open(ctx context.Context, id, params json.RawMessage, c Carrier) (*Stream, error) {
	var notifications json.RawMessage
	if len(params) > 0 {
		members, err := jsonrpc.Split(params)
		if err != nil {
			return nil, InvalidParams("params: %v", err)
		}
		notifications = members.Get("notifications")
	}
	asked, err := ParseFilter(notifications)
	if err != nil {
		return nil, InvalidParams("%v", err)
	}
	return s.OpenRequest(ctx, &Request{ID: id, Params: params, Filter: asked}, c)
}

// OpenRequest is [Service.Open] for a request that was parsed. Its filter names no URI twice. The request is the handler's
// afterwards.
func (s *Service) OpenRequest(ctx context.Context, r *Request, c Carrier) (*Stream, error) {
	most := orDefault(s.MaxURIs, 10_000)
	if n := len(r.Filter.ResourceSubscriptions); most > 0 && n > most {
		return nil, InvalidParams("notifications.resourceSubscriptions has %d URIs, the limit is %d: subscribe to a directory, or open several listens",
			n, most)
	}
	if len(r.ID) == 0 {
		return nil, errors.New("a listen needs an id")
	}
	if s.Handler != nil {
		return s.openHandled(ctx, r, c)
	}
	honoured, subs, err := s.honour(ctx, r.Filter)
	if err != nil {
		return nil, err
	}
	return s.Hub.Open(r.ID, honoured, subs, c, s.ServerInfo)
}

// honour asks the source, and sees to it that no more is honoured than was asked for, and no more and no less is delivered.
func (s *Service) honour(ctx context.Context, asked Filter) (honoured Filter, subs []Sub, err error) {
	if s.Source != nil {
		if honoured, subs, err = s.Source.Honour(ctx, asked); err != nil {
			return Filter{}, nil, err
		}
		if err := honoured.within(asked); err != nil {
			return Filter{}, nil, fmt.Errorf("source honours too much: %w", err)
		}
		if err := keysFor(honoured.ResourceSubscriptions, subs); err != nil {
			return Filter{}, nil, fmt.Errorf("source: %w", err)
		}
	}
	return honoured, subs, ctx.Err()
}

func (s *Service) logger() *slog.Logger {
	if s.Logger == nil {
		return slog.Default()
	}
	return s.Logger
}
