package transport

import (
	"sync"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

const methodListen = "subscriptions/listen"

// Take takes a message of the client if it is the interceptor's, for servers that have a framing of their own: a listen of
// revision 2026-07-28, the cancellation of one, and a request with the id of one that is open, which is refused. What it
// does not take the library is to be given, unchanged; it keeps nothing of message. Answers go to the output, one a line.
// The library's own messages have to go through [InterceptedPipe.Writer], so that its ids are known.
//
// It may block: while more than 16 MiB of listens wait for an output that stalls, as long as it does.
func (x *InterceptedPipe) Take(message []byte) (taken bool) {
	x.taking.Lock()
	defer x.taking.Unlock()
	if jsonrpc.IsBatch(message) {
		x.noteBatch(message)
		return false
	}
	m, failure := jsonrpc.Parse(message)
	switch {
	case failure != nil:
		if fields := listenMembers(message); fields != nil && x.isOurs(fields["params"]) {
			x.receive(message)
			return true
		}
		return false
	case m.Method == methodListen:
		return x.takeListen(&m, message)
	case m.IsRequest():
		return x.takeRequest(&m, message)
	case m.IsNotification():
		return x.takeNotice(&m)
	}
	return false // an answer to a request of the library
}

// receive has a message served.
func (x *InterceptedPipe) receive(message []byte) {
	x.speak()
	x.p.receive(message)
}

// refuse answers a message with an error.
func (x *InterceptedPipe) refuse(id jsonrpc.ID, err error, size int) {
	x.speak()
	x.p.accept(refusedCall(id, err, size))
}

func (x *InterceptedPipe) takeListen(m *jsonrpc.Message, message []byte) bool {
	switch {
	case !x.isOurs(m.Params):
		return m.IsRequest() && x.takeRequest(m, message)
	case m.IsRequest() && x.lib.owes(m.ID):
		x.refuse(m.ID, errDuplicateID, len(message))
	default:
		x.receive(message)
	}
	return true
}

// isOurs reports whether a listen with these parameters is one of revision 2026-07-28. One that names no revision is, unless
// the client has opened a session: it is refused in the terms of the modern era then.
func (x *InterceptedPipe) isOurs(raw []byte) bool {
	version, named := namedVersion(raw)
	if named {
		return version == mcp.Modern
	}
	return !x.lib.isLegacy()
}

// namedVersion is the revision that the parameters of a request name, if they do.
func namedVersion(raw []byte) (version string, named bool) {
	p, err := object("params", raw)
	if err != nil {
		return "", false
	}
	meta, err := metaOf(p)
	if err != nil {
		return "", false
	}
	version, named, err = meta.text(mcp.MetaProtocolVersion, "")
	return version, named && err == nil
}

// listenMembers are the members of a listen that is no valid message, nil if it is something else.
func listenMembers(message []byte) params {
	fields, err := jsonrpc.Members(message)
	if err != nil {
		return nil
	}
	if method, ok, err := params(fields).text("method", ""); err != nil || !ok || method != methodListen {
		return nil
	}
	return fields
}

// takeRequest notes a request that the library will answer, but refuses one with the id of an open listen: the client could
// not tell the answers apart.
func (x *InterceptedPipe) takeRequest(m *jsonrpc.Message, message []byte) bool {
	if x.p.f.has(m.ID) {
		x.refuse(m.ID, errDuplicateID, len(message))
		return true
	}
	x.lib.asked(m)
	return false
}

func (x *InterceptedPipe) takeNotice(m *jsonrpc.Message) bool {
	id, ok := cancelledID(m)
	if !ok {
		return false
	}
	if x.p.f.has(id) {
		x.p.notice(m)
		return true
	}
	x.lib.settled(id) // the library need not answer any more
	return false
}

// noteBatch notes what is in a batch, which passes as a whole: no revision that has listens has batches.
func (x *InterceptedPipe) noteBatch(message []byte) {
	items, failure := jsonrpc.Batch(message)
	if failure != nil {
		return
	}
	for _, item := range items {
		m, failure := jsonrpc.Parse(item)
		switch {
		case failure != nil:
		case m.IsRequest():
			x.lib.asked(&m)
		case m.IsNotification():
			x.takeNotice(&m)
		}
	}
}

// takeLong takes a listen above the limit, of which it sees the beginning, to refuse it. What does not show there that it is
// a listen passes.
func (x *InterceptedPipe) takeLong(beginning []byte) bool {
	x.taking.Lock()
	defer x.taking.Unlock()
	id, method := leadingID(beginning), leadingText(beginning, "method")
	switch {
	case method == methodListen && !x.lib.isLegacy():
		x.speak()
		x.p.longLine(beginning)
		return true
	case method != "" && !id.IsZero():
		x.lib.asked(&jsonrpc.Message{ID: id, Method: method})
	}
	return false
}

// lets says whether a line of the library is let through to the client.
func (x *InterceptedPipe) lets(line []byte) bool {
	if jsonrpc.IsBatch(line) {
		items, _ := jsonrpc.Batch(line)
		for _, item := range items {
			if m, failure := jsonrpc.Parse(item); failure == nil && m.Method == "" {
				x.lib.settled(m.ID)
			}
		}
		return true
	}
	m, failure := jsonrpc.Parse(line)
	switch {
	case failure != nil:
		return true
	case m.IsNotification():
		return !isChange(m.Method) || x.lib.isLegacy() || isTagged(m.Params)
	case m.Method == "" && !m.ID.IsZero():
		return x.letsAnswer(m.ID, line)
	}
	return true
}

// letsAnswer drops what the library says to a request that was cancelled, if its id is that of a listen by now: the client
// would take it for the end of that.
func (x *InterceptedPipe) letsAnswer(id jsonrpc.ID, line []byte) bool {
	asked, handshake := x.lib.settled(id)
	if handshake {
		if fields, err := jsonrpc.Members(line); err == nil && fields["error"] != nil {
			x.lib.refusedLegacy()
		}
	}
	return asked || !x.p.f.has(id)
}

// letsLong says the same of a line above the limit, of which it sees the beginning.
func (x *InterceptedPipe) letsLong(beginning []byte) bool {
	if leading(beginning, "method") != nil {
		return true
	}
	id := leadingID(beginning)
	return id.IsZero() || x.letsAnswer(id, nil)
}

// isChange reports whether a notification is one that modern clients get on a listen only: "The server MUST NOT send
// notification types the client has not explicitly requested" (basic/patterns/subscriptions, "Opening a Stream").
func isChange(method string) bool {
	switch method {
	case "notifications/resources/updated", "notifications/resources/list_changed",
		"notifications/tools/list_changed", "notifications/prompts/list_changed":
		return true
	}
	return false
}

// isTagged reports whether a notification names the subscription that it is for.
func isTagged(raw []byte) bool {
	p, err := object("params", raw)
	if err != nil {
		return false
	}
	meta, _ := metaOf(p)
	return meta[mcp.MetaSubscriptionID] != nil
}

// foreign is what the library behind an interceptor has been asked.
type foreign struct {
	mu     sync.Mutex
	legacy bool            // an initialize passed, and was not refused
	calls  map[string]bool // requests that are not answered, by id key; whether it is an initialize
}

// maxForeign is how many of the library's requests are known at a time. One that is beyond them passes all the same, but its
// id is not known to be taken.
const maxForeign = 65_536

// asked notes a request that passes.
func (l *foreign) asked(m *jsonrpc.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	handshake := m.Method == "initialize"
	l.legacy = l.legacy || handshake
	if l.calls == nil {
		l.calls = map[string]bool{}
	}
	if len(l.calls) < maxForeign {
		l.calls[m.ID.Key()] = handshake
	}
}

// owes reports whether a request with an id has passed and has no answer.
func (l *foreign) owes(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, owed := l.calls[id.Key()]
	return owed
}

// settled notes that a request is answered, or need not be. asked is not set if there was none.
func (l *foreign) settled(id jsonrpc.ID) (asked, handshake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	handshake, asked = l.calls[id.Key()]
	delete(l.calls, id.Key())
	return asked, handshake
}

func (l *foreign) isLegacy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.legacy
}

// refusedLegacy notes that the library does not open the session it was asked for.
func (l *foreign) refusedLegacy() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.legacy = false
}
