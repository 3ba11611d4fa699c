package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// httpConn is a Conn to a URL: an exchange for each request.
type httpConn struct {
	url    string
	header http.Header
	client *http.Client
	idle   func() // closes idle connections, if the client is ours
	inlet  *inlet
	max    int
	leave  time.Duration // for the end of a session

	session session

	life    context.Context // ends with end: every exchange does then
	end     context.CancelFunc
	workers sync.WaitGroup // exchanges

	mu     sync.Mutex // guards the fields below
	closed bool
	open   map[string][]*exchange // by the id of the request; several, if whoever sends wants to see what becomes of that
}

func newHTTP(t *Target, in *inlet) (Conn, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, bare(err)
	}
	u.Fragment = ""
	c := &httpConn{url: u.String(), header: t.Header, client: t.Client, idle: func() {}, inlet: in, max: t.MaxMessage, leave: t.Leave, open: map[string][]*exchange{}}
	if c.client == nil {
		transport := ownTransport()
		c.client = &http.Client{Transport: transport, CheckRedirect: stayThere}
		c.idle = transport.CloseIdleConnections
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// ownTransport is that of the standard library, but for streams that last: what is compressed would be held back, and of a
// server that is gone without a word a ping tells, over HTTP/2.
func ownTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConnsPerHost = 16
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	return t
}

// stayThere refuses redirects that would carry tokens elsewhere or turn a POST into a GET.
func stayThere(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) >= 5:
		return errors.New("the server redirects again and again")
	case next.Method != first.Method:
		return fmt.Errorf("the server redirects to %s in a way that loses the request: use that URL, if you trust it", next.URL.Redacted())
	case next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme:
		return fmt.Errorf("the server redirects to %s: use that URL, if you trust it", next.URL.Redacted())
	}
	return nil
}

// request makes one that lasts as long as ctx.
func (c *httpConn) request(ctx context.Context, method, accept string, body []byte) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url, content)
	if err != nil {
		return nil, err
	}
	for name, values := range c.header {
		r.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host // net/http takes it from nowhere else
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

func (c *httpConn) Send(ctx context.Context, message []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := readOutgoing(message)
	if err != nil {
		return err
	}
	if o.id == nil {
		return c.tell(ctx, o, message)
	}
	x, err := c.begin(o, message)
	if err != nil {
		return err
	}
	select {
	case <-x.sent:
		return nil
	case <-ctx.Done():
		c.stop(x)
		return ctx.Err()
	}
}

// set sets the headers of the message's era.
func (c *httpConn) set(o *outgoing, h http.Header) {
	switch {
	case o.version != "":
		o.set(h)
	case o.method != "initialize":
		c.session.set(h)
	}
}

// tell sends what has no answer: "If the server accepts it, the server MUST return HTTP status code 202 Accepted with no
// body" (basic/transports/streamable-http, "Sending Messages").
func (c *httpConn) tell(ctx context.Context, o *outgoing, message []byte) error {
	ctx, stop := c.within(ctx)
	defer stop()
	r, err := c.request(ctx, http.MethodPost, bothTypes, message)
	if err != nil {
		return err
	}
	c.set(o, r.Header)
	return c.do(r)
}

// do makes a request whose answer is its status.
func (c *httpConn) do(r *http.Request) error {
	answer, err := c.client.Do(r)
	if err != nil {
		return c.plain(err)
	}
	defer answer.Body.Close()
	said := beginning(answer.Body) // also lets the connection be used again
	if answer.StatusCode/100 != 2 {
		return statusError(answer, said)
	}
	return nil
}

// within is ctx, ended with the Conn as well.
func (c *httpConn) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// plain leaves out what net/http puts before an error: the URL may hold a secret, and whoever asked knows it.
func (c *httpConn) plain(err error) error {
	if c.life.Err() != nil {
		return ErrClosed
	}
	return bare(err)
}

// bare is err without the URL that net/http and net/url put before it.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Cancel closes the answers to a request: "Closing the SSE response stream is the cancellation signal"
// (basic/patterns/cancellation). In a session, where it "SHOULD NOT be interpreted as the client cancelling its request",
// it says so besides.
func (c *httpConn) Cancel(ctx context.Context, id json.RawMessage) error {
	c.mu.Lock()
	found := slices.Clone(c.open[string(id)])
	c.mu.Unlock()
	legacy := false
	for _, x := range found {
		c.stop(x)
		legacy = legacy || x.legacy
	}
	if open, _ := c.session.isOpen(); !open || !legacy {
		return nil
	}
	return c.Send(ctx, cancelled(id))
}

func (c *httpConn) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	c.inlet.close()
	c.end()
	c.workers.Wait()
	defer c.idle()
	if _, known := c.session.isOpen(); !known || !first {
		return nil
	}
	return c.endSession(ctx)
}

// endSession ends the session: "Clients that no longer need a particular session SHOULD send an HTTP DELETE [...] The server MAY
// respond to this request with HTTP 405" (2025-11-25, basic/transports, "Session Management"). No status is an error.
func (c *httpConn) endSession(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, c.leave)
	defer stop()
	r, err := c.request(ctx, http.MethodDelete, "", nil)
	if err != nil {
		return err
	}
	c.session.set(r.Header)
	answer, err := c.client.Do(r)
	if err != nil {
		return fmt.Errorf("the session was not ended: %w", bare(err))
	}
	return answer.Body.Close()
}
