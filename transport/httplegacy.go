package transport

import (
	"context"
	"net/http"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// respondIn serves a request of a session and answers it. What is cancelled gets no answer, but every POST has an end.
func (x *exchange) respondIn(s *httpSession, r *request) {
	frame := newFrame()
	defer recycle(frame)
	x.budget(r)
	defer x.memory.release()
	r.rest = &x.rest
	var (
		err    error
		silent bool
	)
	*frame, silent, err = x.serveIn(s, r, *frame)
	switch {
	case silent:
		r.rest.close()
		x.accepted()
	case err != nil:
		x.answerError(*frame, err, false)
	default:
		x.deliver(frame, r.rest)
	}
}

// serveIn appends the answer to a request of a session. silent says that a cancellation came first.
func (x *exchange) serveIn(s *httpSession, r *request, dst []byte) (_ []byte, silent bool, err error) {
	var parent context.Context = &x.ctx
	if r.method.kind == ordered {
		// "Disconnection SHOULD NOT be interpreted as the client cancelling its request" (2025-11-25, basic/transports):
		// what has an effect has it, what would only be said is not worth the work.
		parent = context.WithoutCancel(parent)
	}
	ctx, done := s.begin(parent, r.id)
	defer done()
	if r.method.kind == ordered {
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
		case <-ctx.Done():
			return x.e.s.refuse(ctx, dst, r.id, ctx.Err(), false), context.Cause(ctx) == errCancelled, context.Cause(ctx)
		}
	}
	dst, err = x.e.s.respond(ctx, r, dst)
	return dst, context.Cause(ctx) == errCancelled, causeOf(ctx, err)
}

// begin makes the work on a request known to cancellations, until done.
func (s *httpSession) begin(parent context.Context, id jsonrpc.ID) (ctx context.Context, done func()) {
	ctx, stop := context.WithCancelCause(parent)
	c := &sessionCall{key: id.Key(), stop: stop}
	s.e.mu.Lock()
	s.calls[c] = struct{}{}
	over := s.over
	s.e.mu.Unlock()
	if over {
		stop(errSessionOver)
	}
	return ctx, func() {
		s.e.mu.Lock()
		delete(s.calls, c)
		s.e.mu.Unlock()
		stop(nil)
	}
}

// notice acts on a notification of a session: a cancellation reaches every request with the id that is worked on.
func (s *httpSession) notice(m *jsonrpc.Message) {
	id, ok := cancelledID(m)
	if !ok {
		return
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	for c := range s.calls {
		if c.key == id.Key() {
			c.stop(errCancelled)
		}
	}
}

// batch takes an array of messages: "the Server should respond with an Array" (JSON-RPC 2.0, section 6), which is one message
// and waits for all. So they are served one after the other.
func (x *exchange) batch(body []byte) {
	modern := isModernHeader(x.r.Header) // which says of no session and no revision that it is wrong, only that it has no batches
	session, err := x.session()
	if session != nil {
		defer session.leave()
	}
	if err == nil {
		err = checkLegacyVersion(x.r.Header)
	}
	items, failure := jsonrpc.Batch(body)
	switch {
	case err != nil && !modern:
	case failure != nil:
		err = &statusError{http.StatusBadRequest, failure}
	case modern || session == nil || !session.batches():
		err = &statusError{http.StatusBadRequest, errOnlyIn20250326}
	case !accepts(x.r, typeJSON):
		err = errNotAcceptable(typeJSON)
	default:
		err = x.e.begin(x)
	}
	if err != nil {
		x.refuse(jsonrpc.ID{}, err, false)
		return
	}
	answers := batchAnswers{e: x.e}
	defer answers.release()
	for _, item := range items {
		x.member(session, item, &answers)
	}
	if len(answers.all) == 0 {
		x.accepted()
		return
	}
	_ = x.answer(http.StatusOK, append(answers.all, ']'))
}

// member serves one message of a batch.
func (x *exchange) member(session *httpSession, item []byte, answers *batchAnswers) {
	m, failure := jsonrpc.Parse(item)
	switch {
	case failure != nil && (m.IsNotification() || isResponse(item)):
		return
	case failure != nil:
		answers.add(x.e.s.refuse(&x.ctx, nil, m.ID, failure, false), m.ID)
		return
	case !m.IsRequest():
		session.notice(&m)
		return
	}
	r, err := x.e.s.route(&m, origin{session: session.session})
	if err == nil && (r.modern || r.method.kind == handshake) {
		err = errNoBatch
	}
	if err != nil {
		answers.add(x.e.s.refuse(&x.ctx, nil, m.ID, err, false), m.ID)
		return
	}
	// What a batch holds is counted with all batches: it must not wait for memory that it holds itself.
	x.budget(&r)
	answer, silent, _ := x.serveIn(session, &r, nil)
	x.memory.release()
	if !silent {
		answers.add(answer, m.ID)
	}
}

// batchAnswers is the answer to a batch as it grows.
type batchAnswers struct {
	e    *Endpoint
	all  []byte
	held int64 // bytes of Endpoint.batches
}

// add adds an answer, or the refusal of one for which there is no memory. What is no longer than a refusal needs none.
func (b *batchAnswers) add(answer []byte, id jsonrpc.ID) {
	const short = 1 << 10
	if n := int64(len(answer)); n > short {
		if b.e.batches.TryAcquire(n) {
			b.held += n
		} else {
			answer = appendError(nil, id, errBatchTooLarge)
		}
	}
	b.all = append(b.all, "[,"[min(len(b.all), 1)])
	b.all = append(b.all, answer...)
}

func (b *batchAnswers) release() { b.e.batches.Release(b.held) }
