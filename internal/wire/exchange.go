package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// endAfterAnswer is how long a stream may stay open after its answer: "The final JSON-RPC response SHOULD terminate the
// stream" (basic/transports/streamable-http, "Receiving Messages").
const endAfterAnswer = 5 * time.Second

// exchange is one request over HTTP and what comes back.
type exchange struct {
	conn   *httpConn
	id     json.RawMessage // nil: of Follow
	method string
	legacy bool

	cancel  context.CancelFunc
	stopped atomic.Bool   // nothing is handed over any more
	sent    chan struct{} // closed once the request is written, or has failed
	once    sync.Once     // of closing sent

	answered bool        // belongs to the goroutine of run, as late
	late     *time.Timer // cuts what goes on after the answer
}

// begin starts the exchange of a request.
func (c *httpConn) begin(o *outgoing, message []byte) (*exchange, error) {
	x := &exchange{conn: c, id: slices.Clone(o.id), method: o.method, legacy: o.version == "", sent: make(chan struct{})}
	var ctx context.Context
	ctx, x.cancel = context.WithCancel(c.life)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { x.isSent() }})
	r, err := c.request(ctx, http.MethodPost, bothTypes, slices.Clone(message))
	if err != nil {
		x.cancel()
		return nil, err
	}
	c.set(o, r.Header)
	if !c.enter(x) {
		x.cancel()
		return nil, ErrClosed
	}
	go func() {
		defer c.workers.Done()
		defer c.forget(x)
		x.run(r)
	}()
	return x, nil
}

// enter counts an exchange among the open ones, unless the Conn is closed. Its goroutine ends with workers.Done.
func (c *httpConn) enter(x *exchange) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.workers.Add(1)
	if x.id != nil {
		c.open[string(x.id)] = append(c.open[string(x.id)], x)
	}
	return true
}

func (c *httpConn) forget(x *exchange) {
	x.cancel()
	x.isSent()
	if x.late != nil {
		x.late.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := string(x.id)
	c.open[key] = slices.DeleteFunc(c.open[key], func(other *exchange) bool { return other == x })
	if len(c.open[key]) == 0 {
		delete(c.open, key)
	}
}

// stop ends an exchange; nothing of it is handed over once stop has returned.
func (c *httpConn) stop(x *exchange) {
	x.stopped.Store(true)
	x.cancel()
	c.inlet.mu.Lock() // whoever held it looked before
	defer c.inlet.mu.Unlock()
}

func (x *exchange) isSent() { x.once.Do(func() { close(x.sent) }) }

func (x *exchange) give(e Event) {
	e.Request = x.id
	x.conn.inlet.give(e, x.stopped.Load)
}

// run makes the request and hands over what comes back, to its end.
func (x *exchange) run(r *http.Request) {
	answer, err := x.conn.client.Do(r)
	x.isSent()
	if err != nil {
		x.give(Event{End: true, Err: x.conn.plain(err)})
		return
	}
	defer answer.Body.Close()
	x.give(Event{End: true, Status: answer.StatusCode, Err: x.receive(answer)})
}

// receive hands over the messages of an answer and says why it ended.
func (x *exchange) receive(answer *http.Response) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream" && answer.StatusCode/100 == 2:
		x.give(Event{Status: answer.StatusCode}) // a sign of life
		return x.stream(answer)
	case kind == "application/json":
		return x.whole(answer)
	case answer.StatusCode/100 != 2:
		return statusError(answer, beginning(answer.Body))
	case answer.StatusCode == http.StatusAccepted || answer.StatusCode == http.StatusNoContent:
		return ErrUnanswered
	}
	return frameError(beginning(answer.Body), "its Content-Type is %q, neither application/json nor text/event-stream", kind)
}

// whole takes an answer that is one JSON object.
func (x *exchange) whole(answer *http.Response) error {
	limit := int64(x.conn.max)
	text, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return x.conn.plain(err)
	}
	if int64(len(text)) > limit {
		return tooLong(text, nil, x.conn.max)
	}
	events := take(text)
	if isNotLetIn(answer.StatusCode) {
		return notLetIn(answer, text, events[0].Message)
	}
	for _, e := range events {
		if e.Message == nil && answer.StatusCode/100 != 2 {
			return statusError(answer, text)
		}
		if e.Message == nil {
			return e.Err
		}
		x.took(e, answer)
	}
	return x.ended()
}

// isNotLetIn reports whether a status says that whoever asks may not: what was asked then does not matter, and no message
// about it is an answer to that.
func isNotLetIn(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}

// notLetIn says why, in the words of the message if the body is one.
func notLetIn(answer *http.Response, text []byte, m *Message) error {
	if m != nil && m.Error != nil {
		text = []byte(m.Error.Message)
	}
	return statusError(answer, text)
}

// stream takes server-sent events.
func (x *exchange) stream(answer *http.Response) error {
	events := newSSEReader(answer.Body, x.conn.max)
	for {
		s, err := events.next()
		switch {
		case err == io.EOF, err != nil && x.answered: // what is cut off after the answer is not missed
			return x.ended()
		case err != nil:
			return x.conn.plain(err)
		case s.comment:
			x.give(Event{Status: answer.StatusCode})
			continue
		case s.long:
			x.give(Event{Status: answer.StatusCode, Err: tooLong(s.data, nil, x.conn.max)})
			continue
		}
		for _, e := range take(s.data) {
			x.took(e, answer)
		}
	}
}

// took hands over one event of an answer.
func (x *exchange) took(e Event, answer *http.Response) {
	e.Status, e.RetryAfter = answer.StatusCode, retryAfter(answer)
	if m := e.Message; m != nil && m.Method == "" && x.id != nil {
		if !x.answered {
			x.late = time.AfterFunc(endAfterAnswer, x.cancel)
		}
		x.answered = true
		if x.method == "initialize" && m.Result != nil {
			x.conn.session.begin(answer.Header, m.Result)
		}
	}
	x.give(e)
}

// ended tells whether an answer that is complete has answered the request.
func (x *exchange) ended() error {
	if x.answered || x.id == nil {
		return nil
	}
	return ErrUnanswered
}

// Follow opens the stream of a session: "The client MAY issue an HTTP GET to the MCP endpoint" (2025-11-25,
// basic/transports, "Listening for Messages from the Server").
func (c *httpConn) Follow(ctx context.Context) error {
	x := &exchange{conn: c, sent: make(chan struct{})}
	var life context.Context
	life, x.cancel = context.WithCancel(c.life)
	r, err := c.request(life, http.MethodGet, "text/event-stream", nil)
	if err != nil {
		x.cancel()
		return err
	}
	c.session.set(r.Header)
	if !c.enter(x) {
		x.cancel()
		return ErrClosed
	}
	stop := context.AfterFunc(ctx, x.cancel)
	answer, err := c.accepted(r)
	if err == nil && !stop() {
		_ = answer.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		stop()
		c.forget(x)
		c.workers.Done()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	go func() {
		defer c.workers.Done()
		defer c.forget(x)
		defer answer.Body.Close()
		x.give(Event{End: true, Status: answer.StatusCode, Err: x.stream(answer)})
	}()
	return nil
}

// accepted makes the request of a stream. Its error says why there is none.
func (c *httpConn) accepted(r *http.Request) (*http.Response, error) {
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, c.plain(err)
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); answer.StatusCode/100 == 2 && kind == "text/event-stream" {
		return answer, nil
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return nil, statusError(answer, beginning(answer.Body))
	}
	return nil, ErrNoStream
}

// retryAfter is when the server is to be asked again: "either an HTTP-date or a number of seconds" (RFC 9110, section 10.2.3).
func retryAfter(answer *http.Response) time.Duration {
	text := answer.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // then it is the largest
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

func statusError(answer *http.Response, body []byte) error {
	return &StatusError{Status: answer.StatusCode, Body: clip(body), Challenge: answer.Header.Get("WWW-Authenticate"), RetryAfter: retryAfter(answer)}
}

// restWithin is how long the rest of an answer whose status said all may take.
const restWithin = 200 * time.Millisecond

// beginning is what an error shows of a body. One that goes on is closed: nothing waits for it.
func beginning(body io.ReadCloser) []byte {
	defer time.AfterFunc(restWithin, func() { _ = body.Close() }).Stop()
	text, _ := io.ReadAll(io.LimitReader(body, 512))
	return text
}

func clip(text []byte) string {
	text = text[:min(len(text), 512)]
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("%.200s", strings.TrimSpace(line))
}
