package transport

import (
	"encoding/base64"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// Headers of the protocol, as net/http spells them.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerSession = "Mcp-Session-Id"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// checkMedia checks what a POST says of its body and of the answers it takes.
func checkMedia(r *http.Request) error {
	if !accepts(r, typeJSON) && !accepts(r, typeEvents) {
		return errNotAcceptable(typeJSON + " and " + typeEvents)
	}
	types := r.Header["Content-Type"]
	if len(types) != 1 || !isJSON(types[0]) {
		return refused(http.StatusUnsupportedMediaType, "Content-Type must be %s, in UTF-8", typeJSON)
	}
	for _, coding := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(coding, "identity") {
			return refused(http.StatusUnsupportedMediaType, "Content-Encoding %q is not served: send the body as it is", jsonrpc.Clip(coding))
		}
	}
	return nil
}

func errNotAcceptable(needed string) error {
	return refused(http.StatusNotAcceptable, "Accept must allow %s", needed)
}

func isJSON(contentType string) bool {
	if contentType == typeJSON { // as nearly all spell it
		return true
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	charset, given := params["charset"]
	return err == nil && mediaType == typeJSON && (!given || strings.EqualFold(charset, "utf-8"))
}

// usualAccept allows both types, as nearly all clients spell it.
const usualAccept = typeJSON + ", " + typeEvents

// accepts reports whether the client takes an answer of a type: the range that names it most closely decides (RFC 9110,
// section 12.5.1). Without a header it takes any. The types are the two that are sent.
func accepts(r *http.Request, mediaType string) bool {
	values := r.Header["Accept"]
	if len(values) == 0 || len(values) == 1 && values[0] == usualAccept {
		return true
	}
	closest, accepted := 0, false
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			if near := closeness(strings.ToLower(strings.TrimSpace(name)), mediaType); near > closest {
				closest, accepted = near, !hasNoWeight(params)
			}
		}
	}
	return accepted
}

// closeness is how closely a range names a media type, 0 if it does not.
func closeness(name, mediaType string) int {
	main, wild := strings.CutSuffix(name, "*")
	switch {
	case name == mediaType:
		return 3
	case name == "*/*":
		return 1
	case wild && strings.HasSuffix(main, "/") && strings.HasPrefix(mediaType, main):
		return 2
	}
	return 0
}

// hasNoWeight reports whether the parameters of a media range say q=0, which rules it out.
func hasNoWeight(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && weight == 0
		}
	}
	return false
}

// isModernHeader reports whether the headers alone say that a request is a modern one.
func isModernHeader(h http.Header) bool {
	return len(h[headerVersion]) == 1 && h[headerVersion][0] == mcp.Modern
}

// checkLegacyVersion checks the header of a request that is no modern one: "If the server receives a request with an invalid
// or unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request" (2025-11-25, basic/transports, "Protocol
// Version Header"). It is missing in initialize, in requests of earlier revisions, and in some later ones. The revision is
// the one that was negotiated, whatever the header says. A client of a later revision learns which there are.
func checkLegacyVersion(h http.Header) error {
	values := h[headerVersion]
	if len(values) == 0 || len(values) == 1 && slices.Contains(mcp.LegacyVersions(), values[0]) {
		return nil
	}
	return &statusError{http.StatusBadRequest, errUnsupportedVersion(strings.Join(values, ", "))}
}

// matchHeaders compares what the headers repeat of a modern request: "Servers that process the request body MUST reject
// requests where the values specified in the headers do not match the corresponding values in the request body"
// (basic/transports/streamable-http, "Server Validation").
func matchHeaders(h http.Header, m *jsonrpc.Message, version string, p params) error {
	if err := matchHeader(h, headerVersion, "_meta."+mcp.MetaProtocolVersion, version, asIs); err != nil {
		return err
	}
	if err := matchHeader(h, headerMethod, "method", m.Method, asIs); err != nil {
		return err
	}
	var field string
	switch m.Method {
	case "resources/read":
		field = "uri"
	case "tools/call", "prompts/get":
		field = "name"
	default:
		return nil
	}
	value, ok, err := p.text(field, field)
	if err != nil || !ok {
		return nil // the method says what is wrong with its parameters
	}
	return matchHeader(h, headerName, "params."+field, value, decodeName)
}

// matchHeader compares one header with what it repeats, after decoding it.
func matchHeader(h http.Header, name, where, want string, decode func(string) (string, bool)) error {
	shown := name
	if name == headerVersion {
		shown = "MCP-Protocol-Version" // as the specification spells it
	}
	values := h[name]
	switch len(values) {
	case 0:
		return mismatch("%s is missing, it repeats %s", shown, where)
	case 1:
	default:
		return mismatch("%s is there more than once", shown)
	}
	got, ok := decode(values[0])
	if !ok {
		return mismatch("%s %q is malformed: what is not printable ASCII is sent as =?base64?...?=", shown, jsonrpc.Clip(values[0]))
	}
	if got != want {
		return mismatch("%s is %q, %s is %q: they must be the same", shown, jsonrpc.Clip(got), where, jsonrpc.Clip(want))
	}
	return nil
}

func mismatch(format string, args ...any) error {
	return jsonrpc.Errorf(mcp.HeaderMismatch, "header mismatch: "+format, args...)
}

// asIs is the value of a header that is never encoded. Values are "visible ASCII characters (0x21-0x7E), space (0x20), and
// horizontal tab (0x09)" ("Value Encoding").
func asIs(value string) (string, bool) {
	for i := range len(value) {
		if c := value[i]; c != '\t' && (c < 0x20 || c > 0x7e) {
			return "", false
		}
	}
	return value, true
}

// decodeName is the value of a header that may be encoded: "The prefix =?base64? and suffix ?= indicate that the value is
// Base64-encoded. These markers are case-sensitive" ("Value Encoding").
func decodeName(value string) (string, bool) {
	const prefix, suffix = "=?base64?", "?="
	value, ok := asIs(value)
	if !ok || len(value) < len(prefix)+len(suffix) || !strings.HasPrefix(value, prefix) || !strings.HasSuffix(value, suffix) {
		return value, ok
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(value[len(prefix) : len(value)-len(suffix)])
	if err != nil {
		return "", false
	}
	return string(decoded), true
}
