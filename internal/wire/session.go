package wire

import (
	"encoding/json"
	"net/http"
	"sync"
)

// session is what a legacy server has given out, by its answer to initialize (2025-11-25, basic/transports, "Session
// Management" and "Protocol Version Header").
type session struct {
	mu      sync.Mutex // guards the fields below
	open    bool
	id      string // empty: the server keeps none
	version string // negotiated
}

// begin takes the answer to initialize.
func (s *session) begin(h http.Header, result json.RawMessage) {
	var negotiated struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &negotiated) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.id, s.version = true, h.Get(headerSession), negotiated.ProtocolVersion
}

// set sets the headers of a session: "clients using the Streamable HTTP transport MUST include it in the MCP-Session-Id
// header on all of their subsequent HTTP requests", and the negotiated version.
func (s *session) set(h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" {
		h.Set(headerSession, s.id)
	}
	if s.version != "" {
		h.Set(headerVersion, s.version)
	}
}

// isOpen reports whether there is a session, and whether the server knows it by an id.
func (s *session) isOpen() (open, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.id != ""
}
