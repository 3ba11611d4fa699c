package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// startWireHTTP is startWire over HTTP: a bridge takes the client's lines to the server and brings back what it says.
func startWireHTTP(t testing.TB, cfg config) *wireEnd {
	t.Helper()
	in, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	w := &wireEnd{t: t, dir: cfg.places[0].spec.Dir, in: out, frames: make(chan string, 1000), ended: make(chan error, 1), stop: stop}
	watching, listening := make(chan struct{}), make(chan string, 1)
	cfg.web.addr, cfg.say = "127.0.0.1:0", slog.New(saidAt{listening})
	go func() {
		w.ended <- serve(ctx, cfg, nil, nil, slog.New(logged{message: watchingMessage, once: watching}))
	}()
	t.Cleanup(func() { stop(); out.Close() })
	late := time.After(patience)
	select {
	case <-watching:
	case err := <-w.ended:
		t.Fatalf("the server ended: %v", err)
	case <-late:
		t.Fatal("the server never watched its directory")
	}
	b := &bridge{t: t, url: <-listening, client: &http.Client{Transport: &http.Transport{}}, frames: w.frames, listens: map[string]*listened{}}
	go func() {
		defer close(w.frames)
		b.run(in)
		stop()
		b.streams.Wait()
		b.client.CloseIdleConnections()
	}()
	return w
}

// saidAt is a slog.Handler that tells the URL of what is logged.
type saidAt struct{ url chan string }

func (s saidAt) Enabled(context.Context, slog.Level) bool { return true }
func (s saidAt) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s saidAt) WithGroup(string) slog.Handler            { return s }
func (s saidAt) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "url" {
			s.url <- a.Value.String()
		}
		return true
	})
	return nil
}

// bridge is a client that sends each line in a POST of its own, waits for the answer or, of a stream, the first message, and
// goes on. A cancellation of a listen closes its stream. It is in a session after initialize, with a stream for it.
type bridge struct {
	t       testing.TB
	url     string
	client  *http.Client
	frames  chan<- string
	session string
	version string // negotiated
	own     *listened
	listens map[string]*listened // by id
	streams sync.WaitGroup
}

// listened is a stream that is open.
type listened struct {
	stop  context.CancelFunc
	ended chan struct{}
}

func (l *listened) close() {
	l.stop()
	<-l.ended
}

func (b *bridge) run(in io.Reader) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		b.send(lines.Bytes())
	}
}

// bridged is what a bridge has to know of a line.
type bridged struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta      map[string]json.RawMessage `json:"_meta"`
		URI       string
		RequestID json.RawMessage
	}
}

func (b *bridge) send(line []byte) {
	var m bridged
	_ = json.Unmarshal(line, &m) // what is malformed is sent as well
	if l := b.listens[string(m.Params.RequestID)]; l != nil && m.Method == "notifications/cancelled" {
		delete(b.listens, string(m.Params.RequestID))
		l.close()
		return
	}
	answer, stop := b.open(http.MethodPost, line, &m)
	if answer == nil {
		return
	}
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		b.listens[string(m.ID)] = b.follow(answer, stop, true)
		return
	}
	defer stop()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Errorf("answer: %v", err)
	}
	if len(text) > 0 {
		b.frames <- string(text)
	}
	if m.Method == "initialize" && answer.Header.Get("Mcp-Session-Id") != "" {
		b.enter(answer.Header.Get("Mcp-Session-Id"), text)
	}
}

// enter goes on in a session.
func (b *bridge) enter(session string, initialized []byte) {
	var answer struct {
		Result struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal(initialized, &answer); err != nil {
		b.t.Errorf("initialize: %v", err)
	}
	if b.own != nil {
		b.own.close()
	}
	b.session, b.version = session, answer.Result.ProtocolVersion
	stream, stop := b.open(http.MethodGet, nil, &bridged{})
	if stream != nil {
		b.own = b.follow(stream, stop, false)
	}
}

// open sends a request with the headers that a client of its era sends.
func (b *bridge) open(method string, body []byte, m *bridged) (*http.Response, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, method, b.url, bytes.NewReader(body))
	if err != nil {
		b.t.Error(err)
		return nil, stop
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	var version string
	if json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &version) == nil {
		r.Header.Set("MCP-Protocol-Version", version)
		r.Header.Set("Mcp-Method", m.Method)
		if m.Method == "resources/read" {
			r.Header.Set("Mcp-Name", m.Params.URI)
		}
	} else if b.session != "" {
		r.Header.Set("MCP-Protocol-Version", b.version)
		r.Header.Set("Mcp-Session-Id", b.session)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Errorf("%s %s: %v", method, body, err)
		return nil, stop
	}
	return answer, stop
}

// follow brings the messages of a stream until it ends. If first is set it returns when the first one is there.
func (b *bridge) follow(answer *http.Response, stop context.CancelFunc, first bool) *listened {
	l := &listened{stop: stop, ended: make(chan struct{})}
	begun := make(chan struct{})
	if !first {
		close(begun)
	}
	b.streams.Go(func() {
		defer close(l.ended)
		defer stop()
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 64<<20)
		waited := first
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				b.frames <- data
				if waited {
					waited = false
					close(begun)
				}
			}
		}
	})
	select {
	case <-begun:
	case <-l.ended:
	}
	return l
}
