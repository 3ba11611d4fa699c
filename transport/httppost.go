package transport

import (
	"context"
	"net/http"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// post takes one message, or a batch in a session of the revision that has them.
func (x *exchange) post() {
	if err := checkMedia(x.r); err != nil {
		x.refuse(jsonrpc.ID{}, err, true)
		return
	}
	body, err := x.readBody()
	if err != nil {
		x.refuse(leadingID(body), err, true)
		return
	}
	switch {
	case jsonrpc.IsBatch(body):
		x.batch(body)
	default:
		x.message(body)
	}
}

func (x *exchange) message(body []byte) {
	m, failure := jsonrpc.Parse(body)
	switch {
	case failure != nil && isResponse(body):
		x.accepted()
	case failure != nil:
		x.refuse(m.ID, &statusError{http.StatusBadRequest, failure}, true)
	case m.IsRequest():
		x.request(&m)
	default:
		x.notice(&m)
	}
}

// accepted answers what needs no answer: "the server MUST return HTTP status code 202 Accepted with no body".
func (x *exchange) accepted() { _ = x.answer(http.StatusAccepted, nil) }

// notice takes a notification or a response. Those of modern clients mean nothing: they cancel by closing the answer. They
// come with and without the headers of a request, which no revision defines for them.
func (x *exchange) notice(m *jsonrpc.Message) {
	if isModernHeader(x.r.Header) {
		x.accepted()
		return
	}
	session, err := x.session()
	if err == nil {
		err = checkLegacyVersion(x.r.Header)
	}
	if session != nil {
		defer session.leave()
	}
	if err != nil {
		x.refuse(jsonrpc.ID{}, err, false)
		return
	}
	if session != nil {
		session.notice(m)
	}
	x.accepted()
}

// request routes a request and has it answered in its era.
func (x *exchange) request(m *jsonrpc.Message) {
	session, gone := x.session()
	if session != nil {
		defer session.leave()
	}
	r, err := x.route(m, session, gone)
	if err == nil {
		err = x.e.begin(x)
	}
	if err == nil && r.method.kind == streamed && !accepts(x.r, typeEvents) {
		err = errNotAcceptable(typeEvents)
	}
	if err == nil && r.method.kind != streamed && !accepts(x.r, typeJSON) {
		err = errNotAcceptable(typeJSON)
	}
	switch {
	case err != nil:
		x.refuse(m.ID, err, r.modern)
	case r.method.kind == streamed:
		x.listen(&r)
	case r.method.kind == handshake:
		x.initialize(&r)
	case r.modern:
		x.respond(&x.ctx, &r)
	default:
		x.respondIn(session, &r)
	}
}

// route checks a request. gone is set if it names a session that is none, which matters in the legacy eras only.
func (x *exchange) route(m *jsonrpc.Message, session *httpSession, gone error) (request, error) {
	o := origin{
		modern: isModernHeader(x.r.Header),
		headers: func(m *jsonrpc.Message, version string, p params) error {
			return matchHeaders(x.r.Header, m, version, p)
		},
	}
	if session != nil {
		o.session = session.session
	}
	r, err := x.e.s.route(m, o)
	if r.modern {
		return r, err
	}
	if err := checkLegacyVersion(x.r.Header); err != nil {
		return r, err
	}
	switch {
	case m.Method == "initialize":
	case gone != nil:
		return r, gone
	case session == nil && err != nil:
		// "Servers that require a session ID SHOULD respond to requests without an MCP-Session-Id header (other than
		// initialization) with HTTP 400 Bad Request" (2025-11-25, basic/transports, "Session Management").
		return r, &statusError{http.StatusBadRequest, err}
	}
	return r, err
}

// respond serves a request and answers it.
func (x *exchange) respond(ctx context.Context, r *request) {
	frame := newFrame()
	defer recycle(frame)
	x.budget(r)
	defer x.memory.release()
	r.rest = &x.rest
	var err error
	if *frame, err = x.e.s.respond(ctx, r, *frame); err != nil {
		x.answerError(*frame, causeOf(ctx, err), r.modern)
		return
	}
	x.deliver(frame, r.rest)
}

// budget has a read take its part in the memory of all, which is to be released. It may wait for it, since it keeps nobody waiting.
func (x *exchange) budget(r *request) {
	if r.method.kind == reading {
		x.memory = share{of: x.e.s.mem, wait: func(acquire func()) { acquire() }}
		r.memory = &x.memory
	}
}
