package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// What an http.Server and the handlers around an endpoint have to say about requests and connections is not about streams whose
// connections are taken over, as Server.Handler says.

// serveTakenOver starts a server that is set up in some way, and listens to it.
func serveTakenOver(t *testing.T, setUp func(*web, *http.Server)) (*web, *httptest.Server, *events) {
	t.Helper()
	w := newWeb(t, listen.NewHub(nil), nil, nil)
	srv := httptest.NewUnstartedServer(w.e)
	setUp(w, srv.Config)
	serveAs(t, w, srv)
	s := w.listen("1", onlyA)
	if n := w.e.moorings(); n != 1 {
		t.Errorf("%d are taken over", n)
	}
	return w, srv, s
}

// goesOn fails unless a stream is told of a change.
func (w *web) goesOn(s *events) {
	w.t.Helper()
	w.hub.Publish(listen.Change{Keys: []string{a}})
	s.raw(updated("1", a))
}

func TestHTTPTakenOverStreamsOutliveTheTimeoutsOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, listen.NewHub(nil), nil, &HTTPOptions{Keepalive: 24 * time.Hour})
		l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		srv := &http.Server{Handler: w.e, ReadTimeout: time.Second, WriteTimeout: time.Second, IdleTimeout: time.Second}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(l)
		}()
		w.dial = l.dial
		c := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
		s := &events{t: t, lines: bufio.NewScanner(c.response().Body)}
		s.raw(acknowledged("1", onlyA))
		for range 3 {
			after(time.Hour)
			go w.hub.Publish(listen.Change{Keys: []string{a}})
			s.raw(updated("1", a))
			synctest.Wait()
		}
		w.leave()
		w.shutdown()
		srv.Close()
		<-served
		w.untouched()
	})
}

func TestHTTPTakenOverStreamsOutliveTheContextsOfTheServer(t *testing.T) {
	base, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	w, _, s := serveTakenOver(t, func(w *web, srv *http.Server) {
		srv.BaseContext = func(net.Listener) context.Context { return base }
	})
	stop()
	w.goesOn(s)
	// What is to end with a context is ended by Shutdown.
	context.AfterFunc(base, func() { ended <- w.e.Shutdown(base) })
	<-ended
	until(t, "the stream is over", func() bool { return w.hub.Len() == 0 && w.e.moorings() == 0 })
}

func TestHTTPTakenOverStreamsOutliveTheServer(t *testing.T) {
	w, srv, s := serveTakenOver(t, func(*web, *http.Server) {})
	if err := srv.Config.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown waits for what it does not know of: %v", err)
	}
	w.goesOn(s)
	if err := srv.Config.Close(); err != nil {
		t.Error(err)
	}
	w.goesOn(s)
	w.shutdown()
	s.raw(completed("1"))
	s.end()
}

func TestHTTPHooksSeeTakenOverConnectionsNoMore(t *testing.T) {
	var mu sync.Mutex
	states := map[net.Conn][]http.ConnState{}
	w, _, s := serveTakenOver(t, func(_ *web, srv *http.Server) {
		srv.ConnState = func(c net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states[c] = append(states[c], state)
		}
	})
	w.goesOn(s)
	w.shutdown()
	s.raw(completed("1"))
	s.end()
	mu.Lock()
	defer mu.Unlock()
	want := []http.ConnState{http.StateNew, http.StateActive, http.StateHijacked}
	for _, seen := range states {
		if !slices.Equal(seen, want) {
			t.Errorf("the hook sees %v, want %v", seen, want)
		}
	}
	if len(states) != 1 {
		t.Errorf("there are %d connections", len(states))
	}
}

// A handler around an endpoint has its request end when the stream begins.
func TestHTTPHandlersAroundReturnWhenTheStreamBegins(t *testing.T) {
	returned := make(chan struct{})
	w, _, s := serveTakenOver(t, func(w *web, srv *http.Server) {
		srv.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			ctx, stop := context.WithTimeout(r.Context(), time.Minute)
			defer close(returned)
			defer stop()
			w.e.ServeHTTP(out, r.WithContext(ctx))
			if _, err := io.WriteString(out, "after"); err != http.ErrHijacked {
				t.Errorf("what it writes afterwards comes to %v", err)
			}
		})
	})
	<-returned
	w.goesOn(s)
	w.shutdown()
	s.raw(completed("1"))
	s.end()
}

// A client that asks whether to send the body is answered, then has its stream, and a request that it sends ahead is dropped, as
// the answer says with Connection: close. So it is where the connection is kept.
func TestHTTPStreamsAfterWhatComesBeforeThem(t *testing.T) {
	for name, keep := range map[string]bool{"taken over": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			kept = keep
			defer func() { kept = false }()
			w := startWeb(t, nil, nil)
			listening := listenTo("1", onlyA)
			head := "POST /mcp HTTP/1.1\nHost: 127.0.0.1\nExpect: 100-continue\nContent-Length: " + fmt.Sprint(len(listening))
			for name, values := range headersOf(listening) {
				head += "\n" + name + ": " + values[0]
			}
			c := w.raw(head, "")
			if said, err := c.in.ReadString('\n'); !strings.HasPrefix(said, "HTTP/1.1 100 ") {
				t.Fatalf("got %q (%v)", said, err)
			}
			if _, err := c.in.Discard(len("\r\n")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, listening+"OPTIONS /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			res := c.response()
			s := &events{t: t, lines: bufio.NewScanner(res.Body)}
			s.raw(acknowledged("1", onlyA))
			w.goesOn(s)
			w.shutdown()
			s.raw(completed("1"))
			s.end()
			if rest, _ := io.ReadAll(c.in); len(rest) > 0 || !res.Close {
				t.Errorf("after the stream comes %q (%v)", rest, res.Header)
			}
		})
	}
}

func TestHTTPHeadHasNoStream(t *testing.T) {
	w := startWeb(t, nil, nil)
	id := w.open("2025-11-25")
	r := w.ask(http.MethodHead, "", headerSession, id, "Accept", "text/event-stream")
	if r.status != http.StatusMethodNotAllowed || !strings.Contains(r.header.Get("Allow"), "GET") || w.e.moorings() != 0 {
		t.Errorf("status %d, %v, %d streams", r.status, r.header, w.e.moorings())
	}
}
