package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// pipes is a listener whose connections are in memory, so that time in a bubble passes.
type pipes struct {
	accepted chan net.Conn // never closed
	closed   chan struct{} // closed by Close
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// dial returns the client's end of a connection over which a request has been sent.
func (p *pipes) dial(t *testing.T, method string, params map[string]any) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	p.accepted <- server
	message, all := modern("1", method, params)
	var text strings.Builder
	fmt.Fprintf(&text, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", len(message))
	for name, value := range all {
		fmt.Fprintf(&text, "%s: %s\r\n", name, value)
	}
	_, err := io.WriteString(client, text.String()+"\r\n"+message)
	must(t, err)
	return client
}

// serveInBubble serves a directory over p until ctx ends, and returns what tells when it has.
func serveInBubble(t *testing.T, ctx context.Context, dir string, p *pipes, log *slog.Logger) (ended chan error) {
	t.Helper()
	return serveFrontInBubble(t, ctx, dir, &front{listener: p}, log)
}

func serveFrontInBubble(t *testing.T, ctx context.Context, dir string, f *front, log *slog.Logger) (ended chan error) {
	t.Helper()
	cfg := serving(dir)
	cfg.web.addr = "127.0.0.1:80"
	cfg.base = ""
	roots, err := cfg.open(log)
	must(t, err)
	hub := listen.NewHub(nil)
	endpoint := transport.NewServer(cfg.catalogue(roots, nil), hub, nil).Handler(cfg.web.options(nil, log))
	ended = make(chan error, 1)
	go func() {
		err := serveHTTP(ctx, f, endpoint, log)
		closeAll(roots)
		ended <- err
	}()
	return ended
}

// TestWebIsOverWithinFiveSeconds has a client that takes neither the rest of its answer nor the end of it.
func TestWebIsOverWithinFiveSeconds(t *testing.T) {
	dir := docsTree(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		var said strings.Builder
		ended := serveInBubble(t, ctx, dir, p, newLogger(&said, "text", "warn"))
		stalled := p.dial(t, "resources/read", map[string]any{"uri": "fs://docs/a.md"})
		defer stalled.Close()
		synctest.Wait()
		stop()
		start := time.Now()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(start); took > 5*time.Second || took < drainWithin {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(said.String(), "mcp-fsserve: warning: leaving although ") {
			t.Errorf("it said %q", said.String())
		}
	})
}

// TestWebCompletesListensBeforeItEnds has one client that listens and one whose connection is idle.
func TestWebCompletesListensBeforeItEnds(t *testing.T) {
	dir := docsTree(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		ended := serveInBubble(t, ctx, dir, p, slog.New(slog.DiscardHandler))
		idle := p.dial(t, "server/discover", nil)
		defer idle.Close()
		answer, err := http.ReadResponse(bufio.NewReader(idle), nil)
		must(t, err)
		must2(io.Copy(io.Discard, answer.Body))(t)

		listening := p.dial(t, "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
		defer listening.Close()
		answer, err = http.ReadResponse(bufio.NewReader(listening), nil)
		must(t, err)
		stream := &events{t, bufio.NewScanner(answer.Body), answer.Body}
		told := make(chan string, 10) // closed at the end of the stream
		go func() {                   // which takes the comments too
			defer close(told)
			for message := stream.next(); message != ""; message = stream.next() {
				told <- message
			}
		}()
		time.Sleep(10 * time.Minute) // far beyond every deadline of what is no stream
		start := time.Now()
		stop()
		for _, want := range []string{`"method":"notifications/subscriptions/acknowledged"`, `"result":{"resultType":"complete"`, ""} {
			if got := <-told; !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("the stream said %q, want %q", got, want)
			}
		}
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v although nobody held it up", took)
		}
	})
}

// deafConn is a connection that reads nothing from some time on.
type deafConn struct {
	net.Conn
	from   chan struct{} // closed at that time
	closed chan struct{}
	once   sync.Once
}

func (d *deafConn) Read(p []byte) (int, error) {
	select {
	case <-d.from:
		<-d.closed
		return 0, net.ErrClosed
	default:
		return d.Conn.Read(p)
	}
}

func (d *deafConn) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}

// TestWebGivesUpDeafHTTP2Clients has one that reads nothing from its connection, so that no stream of it can be ended.
func TestWebGivesUpDeafHTTP2Clients(t *testing.T) {
	dir := docsTree(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, writeCertificate(cert, key))
	pair, err := tls.LoadX509KeyPair(cert, key)
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		f := &front{listener: p, tls: &tls.Config{Certificates: []tls.Certificate{pair}}, writeTimeout: 30 * time.Second}
		ended := serveFrontInBubble(t, ctx, dir, f, slog.New(slog.DiscardHandler))
		client, server := net.Pipe()
		p.accepted <- server
		conn := &deafConn{Conn: client, from: make(chan struct{}), closed: make(chan struct{})}
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
		message, h := modern("1", "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
		r, err := http.NewRequest(http.MethodPost, "https://localhost/mcp", strings.NewReader(message))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		for name, value := range h {
			r.Header.Set(name, value)
		}
		answer, err := transport.RoundTrip(r)
		must(t, err)
		defer answer.Body.Close()
		close(conn.from)
		time.Sleep(2 * time.Minute) // a comment that a read on its way may take, another one, and more than that may take
		if _, err := client.Write([]byte("x")); err == nil {
			t.Error("the connection is still open")
		}
		conn.Close()
		stop()
		<-ended
	})
}

func TestWebSaysThatTheListenerFailed(t *testing.T) {
	dir := filepath.Clean(docsTree(t))
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		ended := serveInBubble(t, t.Context(), dir, p, slog.New(slog.DiscardHandler))
		p.Close()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "HTTP cannot be served any longer") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestWebGuardsAllOptions has the request that net/http answers by itself, for whomever.
func TestWebGuardsAllOptions(t *testing.T) {
	dir := docsTree(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		ended := serveInBubble(t, ctx, dir, p, slog.New(slog.DiscardHandler))
		for host, status := range map[string]int{"evil.example": http.StatusForbidden, "localhost": http.StatusNotFound} {
			client, server := net.Pipe()
			p.accepted <- server
			must2(fmt.Fprintf(client, "OPTIONS * HTTP/1.1\r\nHost: %s\r\n\r\n", host))(t)
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			must(t, err)
			if answer.StatusCode != status {
				t.Errorf("%s: status %d", host, answer.StatusCode)
			}
			must2(io.Copy(io.Discard, answer.Body))(t)
			client.Close()
		}
		stop()
		must(t, <-ended)
	})
}
