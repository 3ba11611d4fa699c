package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// Headers of both eras, as net/http spells them.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

const bothTypes = "application/json, text/event-stream"

// outgoing is what the transport must know of a message it sends.
type outgoing struct {
	id      json.RawMessage // nil: no answer is expected, it is a notification or an answer
	method  string
	version string // of _meta, empty: legacy
	name    string // for Mcp-Name
	named   bool   // there is a name
}

// nameOf has the parameter that Mcp-Name repeats: "Required For tools/call, resources/read, prompts/get requests"
// (basic/transports/streamable-http, "Standard Request Headers").
var nameOf = map[string]string{"resources/read": "uri", "tools/call": "name", "prompts/get": "name"}

func readOutgoing(message []byte) (*outgoing, error) {
	fields, err := jsonrpc.Split(message)
	if err != nil {
		return nil, fmt.Errorf("message to send: %w", err)
	}
	var o outgoing
	if raw := fields.Get("method"); raw != nil {
		if err := json.Unmarshal(raw, &o.method); err != nil {
			return nil, fmt.Errorf("method of the message to send: %w", err)
		}
		o.id = fields.Get("id")
	}
	params, err := jsonrpc.Split(fields.Get("params"))
	if err != nil {
		return &o, nil // there are none, or the server is to judge them
	}
	if meta, err := jsonrpc.Split(params.Get("_meta")); err == nil {
		_ = json.Unmarshal(meta.Get(mcp.MetaProtocolVersion), &o.version) // what is no string is not repeated
	}
	if member := nameOf[o.method]; member != "" {
		o.named = json.Unmarshal(params.Get(member), &o.name) == nil
	}
	return &o, nil
}

// set sets the headers that repeat the message (basic/transports/streamable-http, "Request Metadata").
func (o *outgoing) set(h http.Header) {
	h.Set(headerVersion, o.version)
	if o.method != "" {
		h.Set(headerMethod, o.method)
	}
	if o.named {
		h.Set(headerName, encodeName(o.name))
	}
}

// encodeName makes a value one of a header: "When a value cannot be safely represented as a plain ASCII header value (e.g.,
// it contains non-ASCII characters, control characters, or has leading/trailing whitespace), clients MUST use Base64
// encoding"; also one "that starts with =?base64? and ends with ?=" ("Value Encoding"). A tab is encoded, since proxies
// turn it into a space.
func encodeName(value string) string {
	const prefix, suffix = "=?base64?", "?="
	plain := strings.TrimSpace(value) == value && !(strings.HasPrefix(value, prefix) && strings.HasSuffix(value, suffix))
	for i := 0; plain && i < len(value); i++ {
		plain = value[i] >= ' ' && value[i] <= '~'
	}
	if plain {
		return value
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(value)) + suffix
}
