package transport

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// web is a server over HTTP and a client of it.
type web struct {
	t      testing.TB
	cat    *fakeCatalogue
	hub    *listen.Hub
	s      *Server
	e      *Endpoint
	client *http.Client
	url    string
	// dial makes a connection of its own to the server.
	dial func() net.Conn
	// dials is how many connections client has made in a bubble.
	dials atomic.Int32
	// opened are the streams and connections of the client, to be closed at the end.
	opened []func()
}

// leave closes what the client has opened.
func (w *web) leave() {
	for _, end := range w.opened {
		end()
	}
}

func newWeb(t testing.TB, hub *listen.Hub, opts *Options, h *HTTPOptions) *web {
	w := &web{t: t, cat: newFakeCatalogue(), hub: hub}
	w.s = NewServer(w.cat, w.hub, opts)
	w.e = w.s.Handler(h)
	return w
}

// startWeb serves on a loopback address until the test ends.
func startWeb(t testing.TB, opts *Options, h *HTTPOptions) *web {
	t.Helper()
	w := newWeb(t, listen.NewHub(nil), opts, h)
	serveOn(t, w)
	return w
}

// kept is whether connections stay those of the http.Server.
var kept bool

// handler is the endpoint, behind one that offers no connection if they are kept.
func (w *web) handler() http.Handler {
	if !kept {
		return w.e
	}
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.e.ServeHTTP(keeper{out}, r) })
}

// keeper is a ResponseWriter as those are that many handlers put around one.
type keeper struct{ http.ResponseWriter }

func (k keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func serveOn(t testing.TB, w *web) {
	t.Helper()
	serveAs(t, w, httptest.NewUnstartedServer(w.handler()))
}

// serveAs starts a server, which serves until the test ends.
func serveAs(t testing.TB, w *web, srv *httptest.Server) {
	t.Helper()
	srv.Start()
	w.url, w.client = srv.URL+"/mcp", srv.Client()
	w.dial = func() net.Conn {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Cleanup(func() {
		w.leave()
		w.shutdown()
		w.client.CloseIdleConnections()
		srv.Close()
		if n := w.hub.Len(); n != 0 {
			t.Errorf("%d streams are left in the hub", n)
		}
		w.untouched()
	})
}

// shutdown ends all, and is given up soon: whoever still has work to do has been tested already.
func (w *web) shutdown() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	if err := w.e.Shutdown(ctx); err != nil {
		w.t.Errorf("Shutdown: %v", err)
	}
}

// untouched fails unless everything that is counted has been given back.
func (w *web) untouched() {
	w.t.Helper()
	e := w.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working != 0 || len(e.exchanges) != 0 || e.afloat != 0 || len(e.present) != 0 || len(e.turned) != 0 || len(e.listens) != 0 || len(e.sessions) != 0 {
		w.t.Errorf("left: %d working, %d exchanges and %d sockets of %v, %d turned away, listens %v, %d sessions", e.working, len(e.exchanges), e.afloat, e.present, len(e.turned), e.listens, len(e.sessions))
	}
	if e.bodies.used != 0 || len(e.bodies.held) != 0 || !e.batches.TryAcquire(e.size) || !w.s.mem.free.TryAcquire(w.s.mem.size) {
		w.t.Error("memory is not given back")
		return
	}
	e.batches.Release(e.size)
	w.s.mem.free.Release(w.s.mem.size)
}

// inBubble runs f with a server in a bubble, over pipes that hold no byte, and checks that all ends.
func inBubble(t *testing.T, opts *Options, h *HTTPOptions, f func(t *testing.T, w *web)) {
	t.Helper()
	inBubbleSpeaking(t, new(http.Protocols), opts, h, f)
}

// inBubbleSpeaking is inBubble with other protocols than HTTP/1.
func inBubbleSpeaking(t *testing.T, protocols *http.Protocols, opts *Options, h *HTTPOptions, f func(t *testing.T, w *web)) {
	t.Helper()
	if *protocols == (http.Protocols{}) {
		protocols.SetHTTP1(true)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, listen.NewHub(nil), opts, h)
		l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		srv := &http.Server{Handler: w.handler(), Protocols: protocols}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(l)
		}()
		w.url = "http://127.0.0.1/mcp"
		w.dial = l.dial
		transport := &http.Transport{
			Protocols: protocols,
			HTTP2:     &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				w.dials.Add(1)
				return l.dial(), nil
			},
		}
		w.client = &http.Client{Transport: transport}
		defer func() {
			w.leave()
			w.shutdown()
			transport.CloseIdleConnections()
			srv.Close()
			<-served
			after(time.Second) // net/http waits half of that when it closes what it has not read
			if n := w.hub.Len(); n != 0 {
				t.Errorf("%d streams are left in the hub", n)
			}
			w.untouched()
		}()
		f(t, w)
	})
}

// pipeListener accepts what is dialled.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
	case <-l.closed:
		ours.Close()
	}
	return ours
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   string
	last   bool // on its connection
}

// headersOf are the headers of a POST as clients send them: those of a modern request repeat its body.
func headersOf(body string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	var m struct {
		Method string
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
			URI  string
			Name string
		}
	}
	if json.Unmarshal([]byte(body), &m) != nil || m.Params.Meta == nil {
		return h
	}
	h.Set(headerVersion, "2026-07-28")
	h.Set(headerMethod, m.Method)
	switch m.Method {
	case "resources/read":
		h.Set(headerName, m.Params.URI)
	case "tools/call", "prompts/get":
		h.Set(headerName, m.Params.Name)
	}
	return h
}

// request makes a request. more are headers in pairs; an empty value removes one.
func (w *web) request(ctx context.Context, method, body string, more ...string) *http.Request {
	w.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, w.url, in)
	if err != nil {
		w.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header = headersOf(body)
	}
	for pair := range slices.Chunk(more, 2) {
		if pair[1] == "" {
			r.Header.Del(pair[0])
			r.Header[http.CanonicalHeaderKey(pair[0])] = nil
			continue
		}
		r.Header.Add(pair[0], pair[1])
		if pair[0] == "Accept" || strings.HasPrefix(pair[0], "Mcp-") || pair[0] == "Content-Type" {
			r.Header.Set(pair[0], pair[1])
		}
	}
	return r
}

// ask returns the answer to a request.
func (w *web) ask(method, body string, more ...string) reply {
	w.t.Helper()
	return w.do(w.request(context.Background(), method, body, more...))
}

func (w *web) do(r *http.Request) reply {
	w.t.Helper()
	res, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Errorf("read answer: %v", err)
	}
	return reply{res.StatusCode, res.Header, string(data), res.Close}
}

func (w *web) post(body string, more ...string) reply {
	w.t.Helper()
	return w.ask(http.MethodPost, body, more...)
}

// frame is the message that an answer holds.
func (r reply) frame(t testing.TB) frame {
	t.Helper()
	if ct := r.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type is %q", ct)
	}
	return parseFrames(t, []byte(r.body+"\n"))[0]
}

// want checks a whole answer: its status and what its body contains.
func (r reply) want(t testing.TB, status int, parts ...string) reply {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	for _, part := range parts {
		if !strings.Contains(r.body, part) {
			t.Errorf("%q is not in %s", part, r.body)
		}
	}
	return r
}

// wantError checks an error answer.
func (r reply) wantError(t *testing.T, status int, id string, code int, words ...string) reply {
	t.Helper()
	r.want(t, status)
	r.frame(t).wantError(t, id, code, words...)
	return r
}

// events is an answer that is a stream.
type events struct {
	t      testing.TB
	header http.Header
	status int
	stop   context.CancelFunc
	body   io.ReadCloser
	lines  *bufio.Scanner
}

// stream sends a request that is answered by a stream.
func (w *web) stream(method, body string, more ...string) *events {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	res, err := w.client.Do(w.request(ctx, method, body, more...))
	if err != nil {
		w.t.Fatal(err)
	}
	e := &events{t: w.t, header: res.Header, status: res.StatusCode, stop: stop, body: res.Body, lines: bufio.NewScanner(res.Body)}
	e.lines.Buffer(nil, 64<<20)
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" || res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(res.Body)
		w.t.Fatalf("no stream: %d %q %s", res.StatusCode, ct, data)
	}
	w.opened = append(w.opened, e.close)
	return e
}

func (w *web) listen(id, filter string) *events {
	w.t.Helper()
	e := w.stream(http.MethodPost, listenTo(id, filter))
	e.raw(acknowledged(id, filter))
	return e
}

// close is how a client cancels.
func (e *events) close() {
	e.stop()
	e.body.Close()
}

// line waits for the next line, without its end. ok is false at the end of the stream.
func (e *events) line() (string, bool) {
	e.t.Helper()
	if !e.lines.Scan() {
		return "", false
	}
	return e.lines.Text(), true
}

// next waits for the next frame, skipping comments.
func (e *events) next() (string, bool) {
	e.t.Helper()
	for {
		line, ok := e.line()
		if !ok {
			return "", false
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is && line != "" && line[0] != ':' {
			e.t.Errorf("odd line %q", line)
		}
		if is {
			if blank, _ := e.line(); blank != "" {
				e.t.Errorf("an event goes on with %q", blank)
			}
			return data, true
		}
	}
}

// raw checks the next frames.
func (e *events) raw(want ...string) {
	e.t.Helper()
	for _, frame := range want {
		got, ok := e.next()
		if !ok || got != frame {
			e.t.Fatalf("got %s (%v)\nwant %s", got, e.lines.Err(), frame)
		}
	}
}

// end checks that the stream ends in good order, without another frame.
func (e *events) end() {
	e.t.Helper()
	if got, ok := e.next(); ok {
		e.t.Errorf("unexpected frame %s", got)
	}
	if err := e.lines.Err(); err != nil {
		e.t.Errorf("the stream breaks off: %v", err)
	}
}

// open initializes a session and returns its id.
func (w *web) open(version string, more ...string) string {
	w.t.Helper()
	r := w.post(initialize("0", version), more...)
	if r.status != http.StatusOK {
		w.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	return r.header.Get(headerSession)
}

func (w *web) in(session, body string, more ...string) reply {
	w.t.Helper()
	return w.post(body, append([]string{headerSession, session}, more...)...)
}

// base64Name is the encoded form of a header.
func base64Name(value string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// raw is a connection of which every byte is the test's.
type rawConn struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

func (w *web) raw(head string, body string) *rawConn {
	w.t.Helper()
	c := w.dial()
	w.opened = append(w.opened, func() { c.Close() })
	if _, err := io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body); err != nil {
		w.t.Errorf("send: %v", err)
	}
	return &rawConn{c, w.t, bufio.NewReader(c)}
}

// rawPost is a POST, with all its headers, in a version of HTTP.
func (w *web) rawPost(proto, body string, more ...string) *rawConn {
	w.t.Helper()
	h := headersOf(body)
	head := "POST /mcp " + proto + "\nHost: 127.0.0.1\nContent-Length: " + fmt.Sprint(len(body))
	for name, values := range h {
		head += "\n" + name + ": " + values[0]
	}
	for _, line := range more {
		head += "\n" + line
	}
	return w.raw(head, body)
}

func (c *rawConn) response() *http.Response {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

// until returns when a condition holds, which takes no longer than the system needs.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("never: %s", what)
		}
	}
}
