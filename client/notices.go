package client

import (
	"encoding/json"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// notice is what the params of a notification may hold.
type notice struct {
	Meta          map[string]json.RawMessage `json:"_meta"`
	URI           string                     `json:"uri"`
	Notifications json.RawMessage            `json:"notifications"`
	RequestID     json.RawMessage            `json:"requestId"`
}

// takeNotification finds the listen that a notification belongs to: over HTTP that on whose answer it came, on a pipe
// that which it names, as clients MUST (basic/patterns/subscriptions, "Receiving Notifications"). One that names a listen that
// is not open is late, and discarded. One that names none is a hint all the same: servers of earlier revisions name none,
// nor do some that should.
func (s *session) takeNotification(request string, m *wire.Message) {
	var n notice
	if m.Params != nil && json.Unmarshal(m.Params, &n) != nil {
		s.warnOnce("the server sent a notification that makes no sense", "method", m.Method)
		n = notice{}
	}
	raw, tagged := n.Meta[mcp.MetaSubscriptionID]
	id := s.idOf(raw)
	var l *listening
	switch {
	case request != "":
		if l = s.listens[request]; l == nil || tagged && id != request {
			return
		}
	case tagged:
		if l = s.listens[id]; l == nil {
			return
		}
	}
	if l != nil {
		l.heardOf(s.heard, false)
		l.spoke = s.heard
	}
	switch m.Method {
	case "notifications/subscriptions/acknowledged":
		if l != nil {
			s.acknowledged(l, n.Notifications)
		}
	case "notifications/cancelled":
		if ended := s.listens[s.idOf(n.RequestID)]; ended != nil {
			s.ended(ended, reply{}) // a server MUST say so when it ends a listen (basic/patterns/cancellation)
		}
	case "notifications/resources/list_changed":
		s.hintList()
	case "notifications/resources/updated":
		s.hintUpdated(l, n.URI)
	case "notifications/tools/list_changed":
		s.hintOther(tools)
	case "notifications/prompts/list_changed":
		s.hintOther(prompts)
	case "notifications/progress", "notifications/message":
		// belong to requests, and none of this client asks for them
	default:
		if l != nil && len(s.want.Extensions) > 0 {
			s.c.queue.notify(m.Method, m.Params)
		}
	}
}

// hintList: the list changed, or may have. It is walked again, and what was answered about it is forgotten.
func (s *session) hintList() {
	s.c.cache.dropList()
	for a := range s.asked {
		a.outdated = a.outdated || a.list
	}
	s.stale = s.stale || s.want.List
}

// hintOther: the list of tools or prompts changed.
func (s *session) hintOther(kind flagSet) {
	if kind == tools && s.want.Tools && s.live {
		s.c.queue.changed(ToolsChanged)
	}
	if kind == prompts && s.want.Prompts && s.live {
		s.c.queue.changed(PromptsChanged)
	}
}

// hintUpdated: a resource changed. A server may name one beneath that which is followed, or spell it in its own way; then
// whatever it may mean is looked at.
func (s *session) hintUpdated(l *listening, uri string) {
	if len(uri) <= maxURIBytes {
		s.outdate(uri)
	}
	if f := s.followed[uri]; f != nil {
		s.soil(f, notified)
		return
	}
	if f := s.followedAbove(uri); f != nil {
		s.soil(f, notified)
		return
	}
	if s.former[uri] {
		return
	}
	s.warnOnce("the server names a resource that was not asked for: all that it may mean is looked at", "uri", uri)
	for _, f := range s.followed {
		if l == nil || f.by == l {
			s.soil(f, notified)
		}
	}
}

// followedAbove finds what is followed and has uri beneath it.
func (s *session) followedAbove(uri string) *follow {
	if len(uri) > maxURIBytes {
		return nil // to look for each beginning of it would take long, and none can be followed
	}
	for i := len(uri) - 1; i > 0; i-- {
		if uri[i] != '/' {
			continue
		}
		for _, above := range []string{uri[:i+1], uri[:i]} {
			if f := s.followed[above]; f != nil && f.wanted() {
				return f
			}
		}
	}
	return nil
}

// outdate forgets what was answered about a resource, also what is being answered.
func (s *session) outdate(uri string) {
	s.c.cache.drop(uri)
	for a := range s.asked {
		a.outdated = a.outdated || a.uri == uri
	}
}
