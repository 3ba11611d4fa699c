package verify

import (
	"errors"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

var changes = []string{updated, resourcesChanged, toolsChanged, promptsChanged}

func isChange(method string) bool { return slices.Contains(changes, method) }

// checkTagged: "All notifications delivered on the stream carry io.modelcontextprotocol/subscriptionId in _meta". On a pipe
// nothing else tells whose they are.
func checkTagged(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		tested = tested || len(l.messages) > 0
		for _, i := range l.messages {
			if tag := v.note(i).tag; l.part != Identity && (tag == nil || identity(tag) != identity(l.id)) {
				found.add("a message in the answer to %v bears another id, or none: %s", l, v.quote(i))
			}
		}
	}
	for _, s := range v.strays {
		switch {
		case v.isTwin(s):
		case s.note.tag != nil:
			found.add("a message bears the id of no listen: %s", v.quote(s.at))
		case s.note.subject.Method == acknowledged:
			found.add("an acknowledgement bears no id: %s", v.quote(s.at))
		}
	}
	return found.or(tested, "nothing came of any listen")
}

// checkUntagged: "Each notification type is opt-in", and a list_changed "is only delivered on a subscriptions/listen stream".
func checkUntagged(v *view) verdict {
	var found faults
	for _, s := range v.strays {
		if isChange(s.note.subject.Method) && s.note.tag == nil {
			found.add("a change is told outside of a listen: %s", v.quote(s.at))
		}
	}
	return found.or(v.somethingChanged(), "nothing changed, as far as is known")
}

// somethingChanged reports whether there was something to tell.
func (v *view) somethingChanged() bool {
	if slices.ContainsFunc(v.windows, func(w *window) bool { return w.shown >= 0 }) {
		return true
	}
	for _, l := range v.listens {
		if slices.ContainsFunc(l.messages, func(i int) bool { return isChange(v.note(i).subject.Method) }) {
			return true
		}
	}
	return false
}

// checkAskedOnly: "The server MUST NOT send notification types the client has not explicitly requested."
func checkAskedOnly(v *view) verdict {
	var found faults
	told := map[Subject]bool{}
	for _, l := range v.listens {
		for _, i := range l.messages {
			s := v.note(i).subject
			if isChange(s.Method) {
				told[s] = true
			}
			if problem := v.unasked(l, s); problem != "" {
				found.add("%v %s: %s", l, problem, v.quote(i))
			}
		}
	}
	tested := false
	for s := range told {
		for _, l := range v.listens {
			tested = tested || len(l.acks) > 0 && !l.asked.covers(s)
		}
	}
	return found.or(tested, "nothing was told that some listen had not asked for")
}

// unasked says why a listen must not be told of s, "" if it may. What else a URI stands for only the server knows, so that
// one counts as another resource only if it was asked for by itself elsewhere.
func (v *view) unasked(l *listening, s Subject) string {
	switch {
	case s.Method == acknowledged, s.Method == cancelledByPeer, s.Method == progress, s.Method == logged:
		return ""
	case !isChange(s.Method):
		return "is told what is no part of the specification and was not asked for"
	case s.Method == updated && len(l.asked.URIs) > 0 && !l.asked.covers(s):
		if v.isAskedElsewhere(s.URI) {
			return "is told of a resource that it did not ask for"
		}
		return ""
	case !l.asked.covers(s):
		return "is told what it did not ask for"
	case len(l.acks) > 0 && l.fault == nil && !l.honoured.covers(s):
		return "is told what its acknowledgement leaves out"
	}
	return ""
}

func (v *view) isAskedElsewhere(uri string) bool {
	return slices.ContainsFunc(v.listens, func(l *listening) bool { return slices.Contains(l.asked.URIs, uri) })
}

// checkNoProgress: "Request-scoped notifications like notifications/progress and notifications/message are not delivered on
// the listen stream".
func checkNoProgress(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		tested = tested || len(l.acks) > 0
		for _, i := range l.messages {
			if m := v.note(i).subject.Method; m == progress || m == logged {
				found.add("%v is told %s", l, v.quote(i))
			}
		}
	}
	return found.or(tested, noAck)
}

// checkMessages: servers do "not initiate JSON-RPC requests", and "MUST NOT write anything that is not a valid MCP message".
func checkMessages(v *view) verdict {
	var found faults
	tested := false
	for _, i := range v.broken {
		if !v.isCutOff(i) {
			found.add("%v", v.rec.Entries[i].Err)
		}
	}
	for i := range v.rec.Entries {
		if e := &v.rec.Entries[i]; e.Kind == Received {
			tested = true
			if e.Message.Method != "" && e.Message.ID != nil {
				found.add("the server sends a request: %s", v.quote(i))
			}
			v.checkPeerCancel(i, &found)
		}
	}
	for _, s := range v.strays {
		if v.rec.Entries[s.at].Message.Method == "" && !v.isTwin(s) && !v.afterUnknownCancel(s.at) {
			found.add("an answer is to no request: %s", v.quote(s.at))
		}
	}
	for _, r := range v.requests {
		for n, i := range r.answers {
			if id := v.rec.Entries[i].Message.ID; identity(id) != identity(r.id) {
				found.add("the answer to the request %s has another id: %s", jsonrpc.Clip(string(r.id)), v.quote(i))
			} else if n > 0 {
				found.add("the request %s is answered twice: %s", jsonrpc.Clip(string(r.id)), v.quote(i))
			}
		}
	}
	return found.or(tested, "nothing came from the server")
}

// isCutOff reports whether what is at an entry may be half a message for the reason that the server was killed: after its
// connection was given up, or because it did not leave in time.
func (v *view) isCutOff(i int) bool {
	conn := v.rec.Entries[i].Conn
	if at, dropped := v.dropped[conn]; dropped && at < i {
		return true
	}
	if at, leaving := v.leaving[conn]; !leaving || at > i {
		return false
	}
	at, left := v.leftAfter(conn)
	return !left || errors.Is(v.rec.Entries[at].Err, wire.ErrForced)
}

// checkPeerCancel: "Server-sent cancellation notifications MUST reference a subscriptions/listen request".
func (v *view) checkPeerCancel(i int, found *faults) {
	e := &v.rec.Entries[i]
	if e.Message.Method != cancelledByPeer {
		return
	}
	if r := v.byKey[keyOf(e.Conn, v.note(i).cancels)]; r == nil || r.listening == nil {
		found.add("the server cancels what is no listen: %s", v.quote(i))
	}
}
