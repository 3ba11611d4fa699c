package transport

import (
	"bytes"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// receive takes a line that is one message.
func (p *pipe) receive(line []byte) {
	if c := p.parse(line); c != nil {
		p.accept(c)
	}
}

// receiveBatch takes a line that is an array.
func (p *pipe) receiveBatch(line []byte) {
	items, failure := jsonrpc.Batch(line)
	if failure == nil && !p.session.batches() {
		failure = errOnlyIn20250326
	}
	if failure != nil {
		p.accept(refusedCall(jsonrpc.ID{}, failure, 0))
		return
	}
	b := &batch{}
	for _, item := range items {
		if c := p.parse(item); c != nil {
			c.batch = b
			b.calls = append(b.calls, c)
		}
	}
	p.accept(slices.Clone(b.calls)...) // a cancellation takes calls out of the batch
}

// longLine refuses a line above the limit, of which it sees the beginning.
func (p *pipe) longLine(beginning []byte) {
	err := jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: the line is longer than %d bytes, its rest was skipped", p.s.opts.MaxLine)
	p.accept(refusedCall(leadingID(beginning), err, 0))
}

// parse reads one message. It acts on a notification; the call is nil if no answer is owed. The call keeps nothing of data,
// which is the reader's, and may be one of a hundred in a line of which the rest is not weighed.
func (p *pipe) parse(data []byte) *call {
	m, failure := jsonrpc.Parse(data)
	if failure != nil {
		if m.IsNotification() || isResponse(data) {
			return nil
		}
		return refusedCall(m.ID, failure, len(data))
	}
	if m.IsNotification() {
		p.notice(&m)
	}
	if !m.IsRequest() { // the server asks nothing, so a response answers nothing
		return nil
	}
	m.Params = bytes.Clone(m.Params)
	return &call{id: m.ID, msg: m, weight: baseWeight + len(data)}
}

// refusedCall makes a call of which no more is known than that it is refused.
func refusedCall(id jsonrpc.ID, err error, size int) *call {
	return &call{id: id, refusal: err, weight: baseWeight + size}
}

// isResponse reports whether a message that cannot be parsed was meant as a response.
func isResponse(data []byte) bool {
	m, err := jsonrpc.Split(data)
	return err == nil && !m.Has("method") && (m.Has("result") || m.Has("error"))
}

// notice acts on a notification. Only cancellations mean anything to the server; what is unknown or malformed is
// ignored (basic/patterns/cancellation, "Error Handling").
func (p *pipe) notice(m *jsonrpc.Message) {
	id, ok := cancelledID(m)
	if !ok {
		return
	}
	if s := p.f.cancel(id); s != nil {
		s.stream.Cancel()
		p.w.discard(s)
	}
	signal(p.w.wake) // a batch may be complete, or nothing owed any more
}

// cancelledID is the id of the request that a notification cancels.
func cancelledID(m *jsonrpc.Message) (jsonrpc.ID, bool) {
	if m.Method != "notifications/cancelled" || m.Params == nil {
		return jsonrpc.ID{}, false
	}
	fields, err := jsonrpc.Split(m.Params)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	return jsonrpc.ParseID(fields.Get("requestId"))
}

// accept takes what is owed an answer in flight, all of a batch or nothing, and answers it or has it served.
func (p *pipe) accept(calls ...*call) {
	p.wait()
	if !p.f.admit(calls...) {
		return
	}
	for _, c := range calls {
		p.begin(c)
	}
}
