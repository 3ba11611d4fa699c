package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// call is a request that waits for its answer.
type call struct {
	id       string // as on the wire
	method   string
	deadline time.Time // for the answer; zero: none
	then     func(reply)
	listen   *listening // that it opened, nil for any other request
}

// reply is what became of a call: an answer, an [*Error] of the server, or why there is neither.
type reply struct {
	result json.RawMessage
	err    error
	status int // over HTTP, 0 if there was none
}

// fault is the error that the server answered with, nil if it did not.
func (r reply) fault() *jsonrpc.Error {
	var fault *jsonrpc.Error
	if errors.As(r.err, &fault) {
		return fault
	}
	return nil
}

// isTrouble reports whether the status says that the server has too much to do, or is in trouble: the answer then says nothing
// of what was asked.
func (r reply) isTrouble() bool {
	return r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests
}

// call sends a request; then is called when there is an answer, or none within the time.
func (s *session) call(method string, params map[string]any, within time.Duration, then func(reply)) *call {
	s.c.lastID++
	c := &call{id: strconv.FormatInt(s.c.lastID, 10), method: method, deadline: time.Now().Add(within), then: then}
	s.calls[c.id] = c
	message := encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(c.id), "method": method, "params": s.dress(params)})
	s.out.add(func(ctx context.Context) {
		if err := s.conn.Send(ctx, message); err != nil {
			err = s.late(ctx, err)
			s.awaitEnd(err)
			s.post(func() { s.answer(c.id, reply{err: err}) })
		}
	})
	return c
}

// notify sends a notification.
func (s *session) notify(method string, params map[string]any) {
	message := encode(map[string]any{"jsonrpc": "2.0", "method": method, "params": s.dress(params)})
	s.out.add(func(ctx context.Context) {
		if err := s.conn.Send(ctx, message); err != nil {
			err = s.late(ctx, err)
			s.awaitEnd(err)
			s.post(func() {
				s.heedRetryAfter(0, err)
				s.lose(fmt.Errorf("%s: %w", method, err))
			})
		}
	})
}

// endWithin is how long a command that takes nothing any more may take to leave, and its output to end, before it counts as
// lost for that alone.
const endWithin = 5 * time.Second

// awaitEnd waits for the end of a command that takes nothing any more: how it has left says more than that nothing could be
// sent, and may be known only a moment later.
func (s *session) awaitEnd(err error) {
	if s.overHTTP || !errors.Is(err, wire.ErrClosed) {
		return
	}
	late := time.NewTimer(endWithin)
	defer late.Stop()
	select {
	case <-late.C:
	case <-s.over:
	}
}

// late says of what could not be sent that the server did not take it in time, if that is why.
func (s *session) late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: it was not taken within %v", ErrStalled, s.opts.Timeout)
	}
	return err
}

// dress adds what every modern request carries (basic/index, "_meta").
func (s *session) dress(params map[string]any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	if s.legacy == nil {
		params["_meta"] = map[string]any{
			mcp.MetaProtocolVersion:    mcp.Modern,
			mcp.MetaClientInfo:         mcp.Implementation{Name: s.opts.Name, Version: s.opts.Version},
			mcp.MetaClientCapabilities: struct{}{},
		}
	}
	return params
}

func encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic("a message of the client cannot be encoded: " + err.Error()) // it holds strings and valid JSON
	}
	return text
}

// cancel gives up a request that may be under way. What still arrives for it belongs to no call and is discarded.
func (s *session) cancel(id string) {
	delete(s.calls, id)
	s.out.add(func(ctx context.Context) {
		if err := s.conn.Cancel(ctx, json.RawMessage(id)); err != nil {
			s.log.Debug("a request could not be cancelled", "id", id, "err", err)
		}
	})
}

// answer ends a call. The answer to what is no call any more is discarded.
func (s *session) answer(id string, r reply) {
	c := s.calls[id]
	if c == nil {
		return
	}
	delete(s.calls, id)
	c.then(r)
}

// succeeded decodes the result of a call that cannot do without it; the connection is lost if there is none.
func (s *session) succeeded(method string, r reply, result any) bool {
	err := r.err
	if err == nil {
		err = json.Unmarshal(r.result, result)
	}
	if err != nil {
		s.lose(fmt.Errorf("%s: %w", method, err))
		return false
	}
	return true
}

// isSign reports whether something says no more than that the server is there.
func isSign(e wire.Event) bool { return e.Message == nil && !e.End && e.Err == nil }

// take understands one thing that arrived.
func (s *session) take(e wire.Event) {
	now := time.Now()
	if e.Err == nil || e.End {
		s.heard = now // what is no message may come from anything that writes there
	}
	request := string(e.Request)
	s.heedRetryAfter(e.RetryAfter, e.Err)
	if c := s.calls[request]; c != nil && c.listen != nil {
		c.listen.heardOf(now, c.listen.acked && isSign(e)) // the headers of an answer are no keepalive
	}
	if e.Request == nil && s.legacy != nil {
		s.legacy.stream.heardOf(now, s.legacy.followed && isSign(e))
	}
	switch {
	case e.Message != nil && e.Message.Method != "" && e.Message.ID != nil && string(e.Message.ID) != "null": // which is no id
		s.refuse(e.Message)
	case e.Message != nil && e.Message.Method != "":
		s.takeNotification(request, e.Message)
	case e.Message != nil:
		s.takeAnswer(request, e)
	case e.End:
		s.takeEnd(request, e)
	case e.Err != nil:
		s.takeNonsense(request, e.Err)
	}
}

// maxRetryAfter bounds for how long a server may have its client wait.
const maxRetryAfter = 10 * time.Minute

// heedRetryAfter notes when the server wants to be asked again, if it has too much to do: it says so with a message, or by
// the error in place of one.
func (s *session) heedRetryAfter(after time.Duration, err error) {
	if refused := (*StatusError)(nil); errors.As(err, &refused) {
		after = refused.RetryAfter
	}
	if until := time.Now().Add(min(after, maxRetryAfter)); after > 0 && until.After(s.notBefore) {
		s.notBefore = until
	}
}

func (s *session) takeAnswer(request string, e wire.Event) {
	id := s.idOf(e.Message.ID)
	if request != "" {
		id = request // over HTTP an error need not repeat the id (basic/transports/streamable-http, "Sending Messages")
	}
	if s.gone[id] {
		s.answeredCancelled()
		return
	}
	r := reply{result: e.Message.Result, status: e.Status}
	if e.Message.Error != nil {
		r.err = e.Message.Error
		if id == "" || id == "null" {
			s.warnOnce("the server answered with an error to what it does not say", "err", r.err)
		}
	}
	s.answer(id, r)
}

// idOf is an id as it was sent, though it came back as another type: "1" or 1.0 for 1. No request has such an id.
func (s *session) idOf(raw json.RawMessage) string {
	id := string(raw)
	plain := strings.TrimSuffix(strings.Trim(id, `"`), ".0")
	if _, err := strconv.ParseUint(plain, 10, 63); err != nil || plain == id {
		return id
	}
	s.warnOnce("the server sends back an id as another type", "id", id)
	return plain
}

// takeEnd ends the connection, or the call whose answer has ended. What has answered already has no call any more.
func (s *session) takeEnd(request string, e wire.Event) {
	if request != "" {
		err := e.Err
		if err == nil {
			err = wire.ErrUnanswered
		}
		s.answer(request, reply{err: err, status: e.Status})
		return
	}
	if e.Err == nil {
		s.lose(ErrEnded)
		s.graceful = s.loss == ErrEnded
		return
	}
	s.lose(fmt.Errorf("%w: %w", ErrEnded, e.Err))
}

// takeNonsense survives what was never meant to be a message, such as a line of a log on standard output. What may be the
// rest of one could have told of a change: the connection is given up, since all is looked at after the next. An answer
// that is too long is one all the same.
func (s *session) takeNonsense(request string, err error) {
	var frame *wire.FrameError
	if errors.As(err, &frame) && frame.TooLong {
		id := string(frame.ID)
		if request != "" {
			id = request
		}
		if c := s.calls[id]; c != nil && c.listen == nil {
			s.cancel(id)
			c.then(reply{err: err})
			return
		}
	}
	if errors.As(err, &frame) && !isTorn(frame.Raw) {
		s.warnOnce("the server says what is no message", "err", err)
		return
	}
	s.lose(err)
}

// isTorn reports whether what is no message begins as one does, or as a batch.
func isTorn(raw []byte) bool {
	raw = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("[")))
	return bytes.HasPrefix(raw, []byte("{"))
}

// refuse answers a request of the server. Only those of earlier revisions may send one; of these it is asked whether the
// client is there.
func (s *session) refuse(m *wire.Message) {
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": struct{}{}}
	if m.Method != "ping" {
		delete(answer, "result")
		answer["error"] = jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found: this client answers no requests but ping")
	}
	if s.owed++; s.owed > maxOwed {
		s.lose(fmt.Errorf("%w: it asks and does not take the answers", ErrStalled))
		return
	}
	message := encode(answer)
	s.out.add(func(ctx context.Context) {
		if err := s.conn.Send(ctx, message); err != nil {
			s.log.Debug("a request of the server could not be answered", "method", m.Method, "err", err)
		}
		s.post(func() { s.owed-- })
	})
}

// maxOwed is how many answers to requests of the server may be waiting to be sent.
const maxOwed = 1000
