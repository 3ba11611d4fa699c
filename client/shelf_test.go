package client_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-fsserve/mcp-fsserve/client"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// shelf is the server of the examples: a few notes in memory, served over HTTP.
type shelf struct {
	hub      *listen.Hub
	endpoint *transport.Endpoint
	http     *httptest.Server
	down     atomic.Bool

	mu    sync.Mutex // guards what follows
	notes map[string]string
	conns []net.Conn // all there were, since an http.Server forgets those that carry listens
}

func newShelf() *shelf {
	s := &shelf{hub: listen.NewHub(nil), notes: map[string]string{}}
	s.endpoint = transport.NewServer(s, s.hub, nil).Handler(nil)
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.down.Load() {
			http.Error(w, "back in a moment", http.StatusBadGateway)
			return
		}
		s.endpoint.ServeHTTP(w, r)
	}))
	s.http.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.conns = append(s.conns, conn)
		}
	}
	s.http.Start()
	return s
}

// url is where it is served.
func (s *shelf) url() string { return s.http.URL + "/mcp" }

// write puts a note on the shelf, and tells.
func (s *shelf) write(name, text string) {
	uri := "note:///" + name
	s.mu.Lock()
	_, was := s.notes[uri]
	s.notes[uri] = text
	s.mu.Unlock()
	s.hub.Publish(listen.Change{Keys: []string{uri}, List: !was})
}

// breakDown ends all connections, and lets in nobody while do runs.
func (s *shelf) breakDown(do func()) {
	s.down.Store(true)
	s.hangUp()
	do()
	s.down.Store(false)
}

func (s *shelf) close() {
	s.hangUp()
	s.http.Close()
	if err := s.endpoint.Shutdown(context.Background()); err != nil { // which http.Server.Close leaves to others
		panic(err)
	}
}

func (s *shelf) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

func (s *shelf) List(_ context.Context, _ *string, entry func(*mcp.Resource)) (next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uri := range slices.Sorted(maps.Keys(s.notes)) {
		entry(&mcp.Resource{URI: uri, Name: uri[8:], MIMEType: "text/plain", Size: int64(len(s.notes[uri]))})
	}
	return "", nil
}

func (s *shelf) Read(_ context.Context, uri string, _ *mcp.ReadOptions) (mcp.Contents, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.notes[uri]
	if !ok {
		return mcp.Contents{}, &mcp.NotFoundError{URI: uri}
	}
	return mcp.Contents{URI: uri, MIMEType: "text/plain", Data: []byte(text), Text: true}, nil
}

func (s *shelf) Templates() []mcp.ResourceTemplate { return nil }

func (s *shelf) Complete(context.Context, string, string) (mcp.Completion, error) {
	return mcp.Completion{}, mcp.ErrUnknownTemplate
}

func (s *shelf) Resolve(uri string) ([]string, error) { return []string{uri}, nil }

func (s *shelf) Baseline(context.Context, []string) {}

// running runs a client beside an example, until the returned function is called.
func running(c *client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Println(err)
		}
	}
}
