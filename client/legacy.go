package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// legacy is what a session has with a server of an earlier revision: resources are subscribed one by one, and what it
// announces follows from its capabilities.
type legacy struct {
	cause     error // why it is not taken for a modern one
	announces flagSet
	subscribe bool    // it has resources/subscribe
	failed    error   // why it does not initialize; what it answers to server/discover is still to come
	stream    hearing // over HTTP, of what it says by itself
	followed  bool    // the stream is open

	leaving       map[string]bool // whose resources/unsubscribe is not answered
	unwanted      []string        // of these, whose is not sent
	unsubscribing int             // how many are sent and not answered
}

// maxSubscribing is how many resources/subscribe are under way at a time, and how many resources/unsubscribe.
const maxSubscribing = 16

// initialize opens a session as revisions before 2026-07-28 do.
func (s *session) initialize(version string, cause error) {
	l := &legacy{cause: cause, leaving: map[string]bool{}}
	s.legacy = l
	s.call("initialize", map[string]any{
		"protocolVersion": version,
		"capabilities":    struct{}{},
		"clientInfo":      mcp.Implementation{Name: s.opts.Name, Version: s.opts.Version},
	}, s.opts.Timeout, func(r reply) {
		if s.legacy == l {
			s.initialized(r)
		}
	})
}

func (s *session) initialized(r reply) {
	if r.err != nil {
		why := fmt.Errorf("initialize: %w", r.err)
		switch cause := s.legacy.cause; {
		case cause == nil:
		case cause.Error() == r.err.Error():
			why = fmt.Errorf("server/discover, and then initialize: %w", r.err)
		default:
			why = fmt.Errorf("%w (before that, server/discover: %v)", why, cause)
		}
		if s.discovering() {
			s.legacy.failed = why
			return
		}
		s.lose(why)
		return
	}
	var result struct {
		ProtocolVersion string
		ServerInfo      mcp.Implementation
		Capabilities    struct {
			Resources struct{ Subscribe, ListChanged bool }
			Tools     struct{ ListChanged bool }
			Prompts   struct{ ListChanged bool }
		}
	}
	if err := json.Unmarshal(r.result, &result); err != nil {
		s.lose(fmt.Errorf("initialize: %w", err))
		return
	}
	if !slices.Contains(mcp.LegacyVersions(), result.ProtocolVersion) {
		s.lose(fmt.Errorf("%w: it supports %.40q", ErrVersion, result.ProtocolVersion))
		return
	}
	can := result.Capabilities
	s.legacy.subscribe = can.Resources.Subscribe
	for flag, announced := range map[flagSet]bool{list: can.Resources.ListChanged, tools: can.Tools.ListChanged, prompts: can.Prompts.ListChanged} {
		if announced {
			s.legacy.announces |= flag
		}
	}
	s.notify("notifications/initialized", nil)
	s.follow(func() { s.begin(result.ProtocolVersion, result.ServerInfo) })
}

// discovering reports whether server/discover is unanswered.
func (s *session) discovering() bool {
	for _, c := range s.calls {
		if c.method == "server/discover" {
			return true
		}
	}
	return false
}

// follow opens the stream of what the server says by itself, and then goes on. A server that has none announces nothing
// ("405 Method Not Allowed, indicating that the server does not offer an SSE stream": 2025-11-25, basic/transports); nor
// does one that answers with a page, or not at all.
func (s *session) follow(then func()) {
	l := s.legacy
	s.out.add(func(ctx context.Context) {
		err := s.conn.Follow(ctx)
		late := errors.Is(ctx.Err(), context.DeadlineExceeded)
		s.post(func() {
			s.heedRetryAfter(0, err)
			switch {
			case s.legacy != l: // server/discover was answered after all
				return
			case err == nil:
				l.stream.at = s.heard
				l.followed = s.overHTTP
			case late || errors.Is(err, wire.ErrNoStream) || isOfEarlierServer(err): // if it has stalled, that will show
				s.log.Warn("the server opens no stream of announcements", "err", s.late(ctx, err))
				l.announces, l.subscribe = 0, false
			default:
				s.lose(fmt.Errorf("open the stream of announcements: %w", err))
				return
			}
			then()
		})
	})
}

// coverLegacy subscribes to what is not covered, some at a time, and unsubscribes from what is not wanted any more.
func (s *session) coverLegacy() {
	if s.renew {
		s.renew = false
		for uri, f := range s.followed {
			if f.wanted() {
				continue
			}
			if f.acked {
				s.leave(uri)
			}
			s.unfollow(f)
		}
	}
	s.unsubscribe()
	s.honour(s.wantedFlags(), s.legacy.announces)
	s.honourExtensions(s.want.Extensions, nil)
	var later []*follow
	for len(s.uncovered) > 0 && s.unanswered < maxSubscribing {
		f := s.uncovered[0]
		s.uncovered = s.uncovered[1:]
		switch {
		case s.followed[f.uri] != f: // any more
		case s.legacy.leaving[f.uri]:
			later = append(later, f)
		case !s.legacy.subscribe:
			s.warnOnce(unannounced)
			s.pollResource(f)
		default:
			s.subscribe(f)
		}
	}
	s.uncovered = append(s.uncovered, later...)
}

func (s *session) subscribe(f *follow) {
	s.unanswered++
	s.call("resources/subscribe", map[string]any{"uri": f.uri}, s.opts.Timeout, func(r reply) {
		s.unanswered--
		switch {
		case r.err == nil && s.followed[f.uri] == nil: // any more
			s.leave(f.uri)
		case r.err == nil:
			s.covered(f)
		case r.fault() != nil:
			s.warnOnce(unannounced, "uri", f.uri, "err", r.err)
			s.pollResource(f)
		default:
			s.lose(fmt.Errorf("resources/subscribe: %w", r.err))
		}
	})
}

// leave has uri unsubscribed. Until that is answered it is not subscribed again: a server may take the two in any order.
func (s *session) leave(uri string) {
	if !s.legacy.leaving[uri] {
		s.legacy.leaving[uri] = true
		s.legacy.unwanted = append(s.legacy.unwanted, uri)
	}
}

// unsubscribe unsubscribes from what is to be left, some at a time.
func (s *session) unsubscribe() {
	l := s.legacy
	for len(l.unwanted) > 0 && l.unsubscribing < maxSubscribing {
		uri := l.unwanted[0]
		l.unwanted = l.unwanted[1:]
		l.unsubscribing++
		s.call("resources/unsubscribe", map[string]any{"uri": uri}, s.opts.Timeout, func(r reply) {
			l.unsubscribing--
			delete(l.leaving, uri)
			if r.err != nil && r.fault() == nil {
				s.lose(fmt.Errorf("resources/unsubscribe: %w", r.err))
			}
		})
	}
}
