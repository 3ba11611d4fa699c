package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// discover finds out which era the server is of (basic/transports/stdio and streamable-http, "Backward Compatibility"). A
// command that does not answer may be of an earlier one: initialize is then tried beside, and what answers first counts.
func (s *session) discover() {
	if !s.overHTTP {
		s.eraDue = time.Now().Add(s.opts.EraTimeout)
	}
	s.call("server/discover", nil, s.opts.Timeout, s.discovered)
}

// suspectEarlier: the server "does not respond within a reasonable timeout" (basic/transports/stdio).
func (s *session) suspectEarlier() {
	if !s.ready && s.legacy == nil {
		s.initialize(mcp.Legacy20251125, ErrStalled)
	}
}

func (s *session) discovered(r reply) {
	fault := r.fault()
	switch {
	case s.ready:
	case r.err == nil:
		s.choose(r.result)
	case fault != nil && fault.Code == mcp.UnsupportedProtocolVersion:
		s.fallBack(supportedBy(fault), fault)
	case fault != nil && (fault.Code == mcp.HeaderMismatch || fault.Code == jsonrpc.InternalError && s.overHTTP):
		s.lose(fmt.Errorf("server/discover: %w", r.err)) // of a modern server, and no revision would help
	case s.legacy != nil && s.legacy.failed != nil:
		s.lose(s.legacy.failed)
	case s.legacy != nil: // it is being asked to initialize already
	case fault != nil || isOfEarlierServer(r.err):
		s.initialize(mcp.Legacy20251125, r.err)
	default:
		s.lose(fmt.Errorf("server/discover: %w", r.err))
	}
}

// isOfEarlierServer: "if the body is empty or is not a recognized modern JSON-RPC error, fall back to initialize". Who is
// not let in, or finds a server in trouble, would not be helped by that.
func isOfEarlierServer(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) || status.Status < 400 || status.Status >= 500 && status.Status != http.StatusNotImplemented {
		return false
	}
	switch status.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return true
}

func supportedBy(fault *jsonrpc.Error) []string {
	var data struct{ Supported []string }
	text, err := json.Marshal(fault.Data)
	if err != nil || json.Unmarshal(text, &data) != nil {
		return nil
	}
	return data.Supported
}

// choose takes the result of server/discover.
func (s *session) choose(result json.RawMessage) {
	var found struct {
		SupportedVersions []string
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &found); err != nil {
		s.lose(fmt.Errorf("server/discover: %w", err))
		return
	}
	if len(found.SupportedVersions) > 0 && !slices.Contains(found.SupportedVersions, mcp.Modern) {
		s.fallBack(found.SupportedVersions, nil)
		return
	}
	s.legacy = nil // initialize may be on its way: what answers first counts
	var info mcp.Implementation
	if raw, ok := found.Meta[mcp.MetaServerInfo]; ok {
		_ = json.Unmarshal(raw, &info) // for display only
	}
	s.begin(mcp.Modern, info)
}

// fallBack initializes with the newest revision of those supported, which do not include the modern one. If the server is
// being asked to initialize already, that goes on: it negotiates, and may take no second.
func (s *session) fallBack(supported []string, cause error) {
	if s.legacy != nil {
		if s.legacy.failed != nil {
			s.lose(s.legacy.failed)
		}
		return
	}
	for _, version := range mcp.LegacyVersions() {
		if slices.Contains(supported, version) {
			s.initialize(version, cause)
			return
		}
	}
	s.lose(fmt.Errorf("%w: it supports %s", ErrVersion, strings.Join(supported, ", ")))
}

// begin goes on once the era is known.
func (s *session) begin(revision string, info mcp.Implementation) {
	s.ready = true
	s.c.setStatus(func(st *Status) {
		st.Revision, st.Server = revision, strings.TrimSpace(info.Name+" "+info.Version)
	})
	s.adopt()
}
