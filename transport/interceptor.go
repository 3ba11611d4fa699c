package transport

import (
	"cmp"
	"log/slog"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// InterceptorOptions configure an [Interceptor]. The zero value of each field is ready to use.
type InterceptorOptions struct {
	// MaxLine is the length in bytes of the longest listen on a pipe. Longer lines that are none pass all the same, without
	// being held. The default is 4 MiB.
	MaxLine int
	// MaxOpening is how many listens of one pipe are opened at a time. The default is 64.
	MaxOpening int
	// Logger receives the causes of internal errors, which clients never see. The default is that of the service or, if that
	// has none, [slog.Default] of the moment when the interceptor is made.
	Logger *slog.Logger
}

// Interceptor serves subscriptions/listen of revision 2026-07-28 for a server that is built on some other library, which
// goes on to serve everything else. It may serve any number of pipes and HTTP handlers at once.
//
// The library should say that it delivers what the service honours: that resources can be subscribed to and that lists tell
// of changes is part of its answer to server/discover, and a client that does not find it there need not ask. In the
// official SDK set Resources of mcp.ServerCapabilities to &mcp.ResourceCapabilities{Subscribe: true, ListChanged: true}; for
// resources/subscribe of older clients it also needs both a SubscribeHandler and an UnsubscribeHandler. In mark3labs/mcp-go
// it is server.WithResourceCapabilities(true, true). Over HTTP the SDK serves revision 2026-07-28 only with
// mcp.StreamableHTTPOptions{Stateless: true}.
type Interceptor struct {
	s *Server
}

// NewInterceptor makes an interceptor that opens listens with s, which must have a hub. A nil opts means the defaults.
func NewInterceptor(s *listen.Service, opts *InterceptorOptions) *Interceptor {
	if opts == nil {
		opts = &InterceptorOptions{}
	}
	if s == nil || s.Hub == nil {
		panic("transport: an interceptor needs a service with a hub")
	}
	log := cmp.Or(opts.Logger, s.Logger)
	server := NewServer(nil, s.Hub, &Options{MaxLine: opts.MaxLine, MaxInFlight: opts.MaxOpening, Logger: log})
	server.listens = s
	return &Interceptor{s: server}
}
