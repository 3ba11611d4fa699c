package transport

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Catalogue is what can be listed, read and completed. Its methods may be called from any goroutine.
type Catalogue interface {
	// List calls entry with each resource of a page, and returns the cursor of the next page, "" after the last; a nil cursor
	// asks for the first. entry does not keep what it is given, but may copy it. A cursor no page handed out is
	// [mcp.ErrBadCursor]. After an error what entry was given counts for nothing.
	List(ctx context.Context, cursor *string, entry func(*mcp.Resource)) (next string, err error)
	// Read returns what a resource holds, or a *[mcp.NotFoundError], *[mcp.TooLargeError] or *[mcp.ReadError]. What is larger
	// than [mcp.SmallRead] has a body, or it calls opts.Reserve before it holds more than that, and returns its error if there
	// is one. Nil opts are the default.
	Read(ctx context.Context, uri string, opts *mcp.ReadOptions) (mcp.Contents, error)
	// Templates returns the URI templates. It does not block.
	Templates() []mcp.ResourceTemplate
	// Complete returns what value can go on as, for the variable path of a template, or [mcp.ErrUnknownTemplate].
	Complete(ctx context.Context, template, value string) (mcp.Completion, error)
	// Resolve returns every key a URI can mean, or a *[mcp.NotFoundError]. It does not block.
	Resolve(uri string) (keys []string, err error)
	// Baseline notes the present state of what the keys name, so that a later change can be told from none.
	Baseline(ctx context.Context, keys []string)
}

// Implementation is the Name and the Version of a program, and a Title for people, which may be empty.
type Implementation = mcp.Implementation

// Options configure a [Server]. The zero value of each field is ready to use.
type Options struct {
	// Info names the program to clients. The default name is mcp-fsserve, the default version devel.
	Info Implementation
	// Instructions tell a model what the server is for. The default describes a server of directories.
	Instructions string
	// TTL is how long clients may take a list or a read for fresh without asking. The default is 0: not at all.
	TTL time.Duration
	// MaxURIs is how many different URIs one listen, or one legacy session, may subscribe to. The default is 10,000.
	MaxURIs int
	// MaxLine is the length in bytes of the longest line read from a pipe. The default is 4 MiB.
	MaxLine int
	// MaxInFlight is how many requests of one pipe are worked on at a time. The default is 64.
	MaxInFlight int
	// MaxReadMemory is how many bytes all reads above 64 KiB together may take, until their answers are written, but for
	// bodies over HTTP, which take no memory of their size. Later ones wait. One that needs more than all of it runs alone.
	// The default is 64 MiB.
	MaxReadMemory int64
	// Listen answers the listens of modern clients in place of the server, and may have the server do some or all of it, see
	// [listen.Pending.Builtin]. The server does not wait for it when a transport ends: [listen.Hub.Shutdown] does. Nil: the
	// server alone does, which takes no goroutine for each. Subscriptions of legacy sessions do not come to it.
	Listen listen.Handler
	// Logger receives the causes of internal errors, which clients never see, and the panics of Listen. The default is
	// [slog.Default] of the moment when the server is made, since nobody else would tell of them.
	Logger *slog.Logger
}

// Server answers requests out of a catalogue and opens listens on a hub. It may serve any number of transports at once.
type Server struct {
	cat     Catalogue
	hub     *listen.Hub
	listens *listen.Service
	log     *slog.Logger
	opts    Options
	wire    preset
	mem     *memory
}

// NewServer makes a server. A nil opts means the defaults.
func NewServer(cat Catalogue, hub *listen.Hub, opts *Options) *Server {
	if opts == nil {
		opts = &Options{}
	}
	o := *opts
	o.Info.Name = cmp.Or(o.Info.Name, "mcp-fsserve")
	o.Info.Version = cmp.Or(o.Info.Version, "devel")
	o.Instructions = cmp.Or(o.Instructions, instructions)
	o.TTL = max(o.TTL, 0) // "Servers MUST provide a ttlMs value that is >= 0" (server/utilities/caching)
	if o.MaxURIs <= 0 {
		o.MaxURIs = 10_000
	}
	if o.MaxLine <= 0 {
		o.MaxLine = 4 << 20
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64
	}
	if o.MaxReadMemory <= 0 {
		o.MaxReadMemory = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	wire := newPreset(&o)
	listens := &listen.Service{
		Hub: hub, Source: source{cat}, Handler: o.Listen, ServerInfo: wire.info, MaxURIs: o.MaxURIs, Logger: o.Logger,
	}
	return &Server{cat: cat, hub: hub, listens: listens, log: o.Logger, opts: o, wire: wire, mem: newMemory(o.MaxReadMemory)}
}

const instructions = "The files of a directory are served as resources. resources/list names them, page by page; " +
	"resources/read returns one by its URI. A directory's URI, ending in /, can be read as well: it lists its children. " +
	"Subscribe to the URIs you depend on to learn when they change: a file for itself, a directory for everything beneath it."
