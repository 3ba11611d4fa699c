package transport

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

const methodListen = "subscriptions/listen"

// Take takes a message of the client if it is the interceptor's, for servers that have a framing of their own: a listen of
// revision 2026-07-28, the cancellation of one, and what is refused: a batch that holds a listen, and a request with the id
// of one that is open. What it does not take the library is to be given, unchanged; it keeps nothing of message. Answers go
// to the output, one a line. The library's own messages have to go through [InterceptedPipe.Writer], so that its ids are
// known.
//
// It may block: while more than 16 MiB of listens wait for an output that stalls, as long as it does.
func (x *InterceptedPipe) Take(message []byte) (taken bool) {
	x.taking.Lock()
	defer x.taking.Unlock()
	if jsonrpc.IsBatch(message) {
		return x.takeBatch(message)
	}
	m, failure := jsonrpc.Parse(message)
	switch { // with a method there is no more wrong than that params are no object
	case m.Method == methodListen:
		return x.takeListen(&m, message)
	case m.IsRequest():
		return x.takeRequest(&m, message)
	case m.IsNotification():
		return x.takeNotice(&m)
	case failure != nil && isListen(message, x.isOurs):
		x.receive(message)
		return true
	}
	return false // an answer to a request of the library, or none of our business
}

// receive has a listen served, or refused if it is too long: the sieve sees no length in what comes whole.
func (x *InterceptedPipe) receive(message []byte) {
	x.speak()
	if len(bytes.TrimRight(message, "\r\n")) > x.p.s.opts.MaxLine {
		x.p.longLine(message)
		return
	}
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
func (x *InterceptedPipe) isOurs(raw json.RawMessage) bool {
	version, named := namedVersion(raw)
	if named {
		return version == mcp.Modern
	}
	return !x.lib.isLegacy()
}

// namedVersion is the revision that the parameters of a request name, if they do.
func namedVersion(raw json.RawMessage) (version string, named bool) {
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

// isListen reports whether a message is a listen with parameters that are ours, whatever else is wrong with it.
func isListen(message []byte, isOurs func(params json.RawMessage) bool) bool {
	fields, err := jsonrpc.Split(message)
	if err != nil {
		return false
	}
	method, ok := jsonrpc.Text(fields.Get("method"))
	return ok && method == methodListen && isOurs(fields.Get("params"))
}

// holdsListen reports whether one of the messages of a batch is such a listen.
func holdsListen(batch []json.RawMessage, isOurs func(params json.RawMessage) bool) bool {
	return slices.ContainsFunc(batch, func(message json.RawMessage) bool { return isListen(message, isOurs) })
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
	x.lib.cancelled(id)
	return false
}

// takeBatch notes what is in a batch, which passes as a whole: no revision that has listens has batches. So one that holds a
// listen of ours is refused as a whole, or the library would serve that.
func (x *InterceptedPipe) takeBatch(message []byte) bool {
	items, failure := jsonrpc.Batch(message)
	if failure != nil {
		return false
	}
	if holdsListen(items, x.isOurs) {
		x.refuseBatch(items)
		return true
	}
	for _, item := range items {
		switch m, _ := jsonrpc.Parse(item); {
		case m.IsRequest():
			x.lib.asked(&m)
		case m.IsNotification():
			x.takeNotice(&m)
		}
	}
	return false
}

// refuseBatch answers each request of a batch with an error.
func (x *InterceptedPipe) refuseBatch(items []json.RawMessage) {
	b := &batch{}
	for _, item := range items {
		if m, _ := jsonrpc.Parse(item); m.IsRequest() {
			c := refusedCall(m.ID, errNoBatch, len(item))
			c.batch = b
			b.calls = append(b.calls, c)
		}
	}
	x.speak()
	x.p.accept(b.calls...)
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
		return x.takeRequest(&jsonrpc.Message{ID: id, Method: method}, beginning)
	}
	return false
}

// lets says whether a line of the library is let through to the client.
func (x *InterceptedPipe) lets(line []byte) bool {
	if jsonrpc.IsBatch(line) {
		items, _ := jsonrpc.Batch(line)
		for _, item := range items {
			if m, failure := jsonrpc.Parse(item); failure == nil && m.Method == "" {
				x.noteAnswer(m.ID, item)
			}
		}
		return true
	}
	m, failure := jsonrpc.Parse(line)
	switch {
	case m.IsNotification(): // also with params that are no object, such as null
		return !isChange(m.Method) || x.lib.isLegacy() || isTagged(m.Params)
	case failure == nil && m.Method == "" && !m.ID.IsZero():
		return x.letsAnswer(m.ID, line)
	}
	return true
}

// letsAnswer drops what the library says to a request that was cancelled, if its id is that of a listen by now: the client
// would take it for the end of that.
func (x *InterceptedPipe) letsAnswer(id jsonrpc.ID, line []byte) bool {
	return x.noteAnswer(id, line) || !x.p.f.has(id)
}

// noteAnswer notes that the library has answered, and reports whether it was asked. line is nil if the answer is too long to
// be seen as a whole.
func (x *InterceptedPipe) noteAnswer(id jsonrpc.ID, line []byte) (asked bool) {
	asked, handshake := x.lib.answered(id)
	if handshake {
		fields, _ := jsonrpc.Split(line)
		x.lib.negotiated(!fields.Has("error"))
	}
	return asked
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
	return meta.Has(mcp.MetaSubscriptionID)
}
