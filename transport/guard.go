package transport

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// A Guard decides who may ask over HTTP: under which name of the server, from which web page, with which token. A nil
// Guard is that of a server on a loopback address. It is safe for use from any goroutine.
//
// The name matters because a page can make a browser resolve the page's own name to the server's address: then the page is
// of the same origin as the server, and the Host header alone tells ("DNS rebinding", basic/transports/streamable-http,
// "Security & Endpoint").
type Guard struct {
	hosts   map[string]bool // as canonicalHost spells them
	origins map[webOrigin]bool
	tokens  *Tokens
}

// GuardOptions say who is admitted besides those who always are.
type GuardOptions struct {
	// Hosts are names and addresses of the server that a Host header may have, without a port: any will do. Loopback names
	// and the address that a connection arrived at always may be.
	Hosts []string
	// Origins are web origins, as in https://app.example.com:8443, whose pages may ask. Pages of a loopback address always
	// may, and so may everything that is no web page and sends no Origin header.
	Origins []string
	// Tokens are those one of which each request must bear. Nil means that none is needed.
	Tokens *Tokens
}

// NewGuard makes a guard. A nil opts means the defaults. An error names the host or origin that is none.
func NewGuard(opts *GuardOptions) (*Guard, error) {
	if opts == nil {
		opts = &GuardOptions{}
	}
	g := &Guard{hosts: map[string]bool{}, origins: map[webOrigin]bool{}, tokens: opts.Tokens}
	for _, entry := range opts.Hosts {
		host, err := parseAllowedHost(entry)
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", entry, err)
		}
		g.hosts[host] = true
	}
	for _, entry := range opts.Origins {
		o, err := parseAllowedOrigin(entry)
		if err != nil {
			return nil, fmt.Errorf("origin %q: %w", entry, err)
		}
		g.origins[o] = true
	}
	return g, nil
}

// screen looks at the Host and Origin headers, and answers what they rule out and what is a preflight. Otherwise it
// returns true, and has set what lets the page read the answer. It comes before the path is looked at, identify after.
func (g *Guard) screen(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Vary", "Origin")
	if !g.allowsHost(r) {
		answerRefused(w, http.StatusForbidden, "the Host header does not name this server: --allow-host adds a name to those it answers to")
		return false
	}
	values := r.Header["Origin"]
	if len(values) == 0 {
		return true
	}
	// "If the Origin header is present and invalid, servers MUST respond with HTTP 403 Forbidden"
	// (basic/transports/streamable-http, "Security & Endpoint").
	if len(values) > 1 || !g.allowsOrigin(values[0]) {
		answerRefused(w, http.StatusForbidden, "pages of this origin may not ask: --allow-origin adds one to those that may")
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", values[0])
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", requestHeaders)
		w.Header().Set("Access-Control-Max-Age", "7200") // seconds, the longest that browsers heed
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	w.Header().Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Retry-After, WWW-Authenticate")
	return true
}

// requestHeaders are what clients send: a browser drops a request with any other.
const requestHeaders = "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id"

// identify returns the name of the client whose token the request bears, empty if none is needed. It answers a request
// without a good one.
func (g *Guard) identify(w http.ResponseWriter, r *http.Request) (client string, ok bool) {
	if g == nil || g.tokens == nil {
		return "", true
	}
	values := r.Header["Authorization"]
	if len(values) == 0 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="mcp-fsserve"`)
		answerRefused(w, http.StatusUnauthorized, "a token is needed: send it as Authorization: Bearer TOKEN")
		return "", false
	}
	if len(values) == 1 {
		client, ok = g.tokens.bearer(values[0])
	}
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer realm="mcp-fsserve", error="invalid_token"`)
		answerRefused(w, http.StatusUnauthorized, "the token is not one of this server's")
	}
	return client, ok
}

// allowsHost judges the name that the client has for the server. HTTP/2 has it in a field of its own, which a Host header
// beside it must not contradict.
func (g *Guard) allowsHost(r *http.Request) bool {
	for _, other := range r.Header["Host"] {
		if other != r.Host {
			return false
		}
	}
	host, _, ok := parseHostPort(r.Host)
	if !ok {
		return false
	}
	return isLoopback(host) || g != nil && g.hosts[host] || host == localAddress(r)
}

// localAddress is the address of this machine that the connection arrived at, empty if that is unknown. A name cannot be
// bound to another address once it is an address.
func localAddress(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, _ := local.(*net.TCPAddr)
	if tcp == nil {
		return ""
	}
	return canonicalAddr(tcp.AddrPort().Addr())
}

func (g *Guard) allowsOrigin(value string) bool {
	o, ok := parseOrigin(value)
	if !ok {
		return false
	}
	if (o.scheme == "http" || o.scheme == "https") && isLoopback(o.host) {
		return true
	}
	return g != nil && g.origins[o]
}

// answerRefused says why a request is refused, in a message without an id: its body is not read.
func answerRefused(w http.ResponseWriter, status int, format string, args ...any) {
	body := appendError(nil, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, format, args...))
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// bearer finds the token in an Authorization header's value.
func (t *Tokens) bearer(value string) (client string, ok bool) {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") { // "case-insensitive" (RFC 9110, 11.1)
		return "", false
	}
	return t.owner(strings.TrimLeft(token, " "))
}
