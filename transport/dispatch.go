package transport

import (
	"context"
	"encoding/json"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// origin is what a transport knows about a message besides its bytes.
type origin struct {
	// session is the legacy session the message belongs to, nil outside one.
	session *session
	// modern says that the transport was told the modern era by other means than _meta, such as a header.
	modern bool
	// headers compares what a transport repeats of a modern request, between the checks of _meta and of the version.
	// Nil: there is nothing to compare.
	headers func(m *jsonrpc.Message, version string, p params) error
}

// request is a message that passed the checks all requests have in common.
type request struct {
	id      jsonrpc.ID
	method  method
	raw     json.RawMessage // the params as they came
	params  params
	modern  bool     // the era, set as soon as it is known: what is refused is refused in its terms
	version string   // the revision it is served under, set when it has passed the checks
	session *session // nil for modern requests and for initialize outside a session
	memory  *share   // what a read takes, released by the transport when it is done with the answer; nil: no budget

	// rest says that the transport can send an answer of which a part is read while it is sent. A read with such a part sets it;
	// the transport closes it. Nil: an answer is whole.
	rest *remainder
}

// kind says how a transport carries out a method.
type kind uint8

const (
	inline    kind = iota // serve does not block
	slow                  // serve may block
	reading               // the same, and it may wait for memory: request.memory
	ordered               // serve may block and takes effect in its session in the order of arrival: session.lane
	streamed              // answered by a stream: Server.openListen
	handshake             // opens a session: negotiate, Server.appendInitialized
)

// method is one entry of an era's table.
type method struct {
	kind kind
	// serve appends the result, a JSON object, to dst. It is nil for streamed and handshake.
	serve func(s *Server, ctx context.Context, r *request, dst []byte) ([]byte, error)
}

var modernMethods = map[string]method{
	"server/discover":          {inline, (*Server).discover},
	"resources/list":           {slow, (*Server).listResources},
	"resources/templates/list": {inline, (*Server).listTemplates},
	"resources/read":           {reading, (*Server).readResource},
	"completion/complete":      {slow, (*Server).complete},
	"subscriptions/listen":     {streamed, nil},
}

var legacyMethods = map[string]method{
	"initialize":               {handshake, nil},
	"ping":                     {inline, (*Server).ping},
	"resources/list":           {slow, (*Server).listResources},
	"resources/templates/list": {inline, (*Server).listTemplates},
	"resources/read":           {reading, (*Server).readResource},
	"resources/subscribe":      {ordered, (*Server).subscribe},
	"resources/unsubscribe":    {ordered, (*Server).unsubscribe},
	"completion/complete":      {slow, (*Server).complete},
	// Hosts use these two as a health check and drop a server that does not know them.
	"tools/list":   {inline, (*Server).listTools},
	"prompts/list": {inline, (*Server).listPrompts},
}

// route decides the era of a request and checks it, in this order: shape of _meta, headers, version, method. The
// parameters of its own are checked by the method. An error is a *[jsonrpc.Error].
func (s *Server) route(m *jsonrpc.Message, o origin) (request, error) {
	r := request{id: m.ID, raw: m.Params, session: o.session}
	// Two methods exist in no other era.
	r.modern = o.modern || m.Method == "server/discover" || m.Method == "subscriptions/listen"
	var err error
	if r.params, err = object("params", m.Params); err != nil {
		return r, err
	}
	meta, err := metaOf(r.params)
	if err != nil {
		return r, err
	}
	// "A request carrying modern per-request _meta is served statelessly according to this revision" (basic/versioning,
	// "Compatibility Matrix").
	if r.modern = r.modern || isModern(meta); r.modern {
		r.session = nil
		return r, s.routeModern(&r, m, meta, o)
	}
	return r, s.routeLegacy(&r, m)
}

func (s *Server) routeModern(r *request, m *jsonrpc.Message, meta params, o origin) error {
	version, err := checkMeta(meta)
	if err != nil {
		return err
	}
	if o.headers != nil {
		if err := o.headers(m, version, r.params); err != nil {
			return err
		}
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	r.version = version
	var ok bool
	if r.method, ok = modernMethods[m.Method]; ok {
		return nil
	}
	switch m.Method {
	case "initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found: %s is not part of revision %s, server/discover says what is served",
			m.Method, mcp.Modern)
	}
	return unknown(m.Method, "server/discover")
}

func (s *Server) routeLegacy(r *request, m *jsonrpc.Message) error {
	found, ok := legacyMethods[m.Method]
	switch {
	case found.kind == handshake && ok:
		r.version = mcp.Legacy20251125
	case r.session == nil:
		_, err := checkMeta(params{})
		return err
	default:
		r.version = r.session.version
	}
	if !ok {
		return unknown(m.Method, "the result of initialize")
	}
	r.method = found
	return nil
}

func unknown(name, where string) error {
	return jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found: %q is not served, %s says what is", jsonrpc.Clip(name), where)
}

// respond serves a request that has a serve function and appends the whole message, a result or an error. err is what the
// error was made of, for transports that tell more by a status.
func (s *Server) respond(ctx context.Context, r *request, dst []byte) (message []byte, err error) {
	start := len(dst)
	dst = appendHead(dst, r.id)
	out, err := r.method.serve(s, ctx, r, append(dst, `"result":`...))
	if err != nil {
		if r.memory != nil {
			r.memory.release()
		}
		return s.refuse(ctx, dst[:start], r.id, err, r.modern), err
	}
	return append(out, '}'), nil
}

// refuse appends the error answer to a request. Its id is zero if it could not be read.
func (s *Server) refuse(ctx context.Context, dst []byte, id jsonrpc.ID, err error, modern bool) []byte {
	err = causeOf(ctx, err)
	e, known := wireError(err, modern)
	if !known {
		s.log.Error("request failed", "id", string(id.Raw()), "err", err)
	}
	return appendError(dst, id, e)
}
