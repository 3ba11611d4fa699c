package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Streams are opened, told, closed and cancelled in the middle of all that, on connections that are kept, while everything
// changes: each that is read hears of a change after its acknowledgement, and nothing is left.
func TestHTTPStorm(t *testing.T) {
	const clients, rounds = 16, 12
	w := startWeb(t, nil, nil)
	var publisher, storm sync.WaitGroup
	stop := make(chan struct{})
	publisher.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.hub.Publish(listen.Change{Keys: []string{a, b}, List: true})
			}
		}
	})
	for c := range clients {
		storm.Go(func() {
			mine := &web{t: t, url: w.url, client: &http.Client{Transport: &http.Transport{}}}
			defer mine.client.CloseIdleConnections()
			for round := range rounds {
				switch (c + round) % 4 {
				case 0:
					mine.stormListen(t)
				case 1:
					mine.stormAbandon(round)
				case 2:
					mine.stormSession(t)
				default:
					if r := mine.post(read("1", a)); r.status != http.StatusOK {
						t.Errorf("read: %d %s", r.status, r.body)
					}
				}
			}
		})
	}
	storm.Wait()
	close(stop)
	publisher.Wait()
	until(t, "all listens are over", func() bool { return len(w.e.listensNow()) == 0 })
}

func (e *Endpoint) listensNow() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []string
	for client, n := range e.listens {
		all = append(all, fmt.Sprint(client, n))
	}
	return all
}

// stormListen listens until something has changed twice.
func (w *web) stormListen(t *testing.T) {
	s := w.stream(http.MethodPost, listenTo("1", onlyA))
	defer s.close()
	for i, want := range []string{acknowledged("1", onlyA), updated("1", a), updated("1", a)} {
		if got, ok := s.next(); !ok || got != want {
			t.Errorf("frame %d is %q (%v)", i, got, s.lines.Err())
		}
	}
}

// stormAbandon closes a listen at some moment of its opening.
func (w *web) stormAbandon(round int) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := w.client.Do(w.request(ctx, http.MethodPost, listenTo("1", `"resourcesListChanged":true`)))
		if err == nil {
			_, _ = io.CopyN(io.Discard, res.Body, int64(round*20))
			stop()
			res.Body.Close()
		}
	}()
	if round%2 == 0 {
		stop()
	}
	<-done
	stop()
}

// stormSession opens a session, replaces its stream and deletes it while a request is on its way.
func (w *web) stormSession(t *testing.T) {
	id := w.open("2025-11-25")
	first := w.stream(http.MethodGet, "", headerSession, id)
	second := w.stream(http.MethodGet, "", headerSession, id)
	defer first.close()
	defer second.close()
	if got, ok := second.next(); !ok || got != legacyListChanged {
		t.Errorf("the second stream says %q", got)
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		r := w.in(id, legacy("1", "resources/subscribe", `"uri":"`+a+`"`))
		if r.status != http.StatusOK && r.status != http.StatusNotFound {
			t.Errorf("subscribe: %d %s", r.status, r.body)
		}
	})
	if r := w.ask(http.MethodDelete, "", headerSession, id); r.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", r.status)
	}
	asking.Wait()
}

// Whatever is going on when the server ends, each listen that was acknowledged is completed.
func TestHTTPShutdownUnderLoad(t *testing.T) {
	const streams = 60
	w := startWeb(t, nil, nil)
	var publisher, load sync.WaitGroup
	stop := make(chan struct{})
	publisher.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.hub.Publish(listen.Change{Keys: []string{a}, List: true})
			}
		}
	})
	var open sync.WaitGroup
	open.Add(streams)
	for i := range streams {
		load.Go(func() {
			mine := &web{t: t, url: w.url, client: w.client}
			s := mine.stream(http.MethodPost, listenTo(fmt.Sprint(i), onlyA))
			defer s.close()
			frame, _ := s.next()
			if frame != acknowledged(fmt.Sprint(i), onlyA) {
				t.Errorf("first comes %q", frame)
			}
			open.Done()
			for ok := true; ok; {
				var next string
				if next, ok = s.next(); ok {
					frame = next
				}
			}
			if frame != completed(fmt.Sprint(i)) || s.lines.Err() != nil {
				t.Errorf("last comes %q (%v)", frame, s.lines.Err())
			}
		})
	}
	// Others come and go all the time, until they are refused.
	for range 8 {
		load.Go(func() {
			for id := 0; ; id++ {
				r := w.post(listenTo(fmt.Sprint(id), ""))
				if r.status == http.StatusServiceUnavailable {
					return
				}
				if !strings.HasSuffix(r.body, "data: "+completed(fmt.Sprint(id))+"\n\n") {
					t.Errorf("got %d %s", r.status, r.body)
				}
			}
		})
	}
	open.Wait()
	w.shutdown()
	if n := w.hub.Len(); n != 0 {
		t.Errorf("%d streams are left in the hub", n)
	}
	load.Wait()
	close(stop)
	publisher.Wait()
}

// Clients that hang up, in whatever way, leave nothing running, although the server goes on.
func TestHTTPClientsThatLeaveTakeTheirGoroutines(t *testing.T) {
	const clients = 200
	w := startWeb(t, nil, nil)
	before := runtime.NumGoroutine()
	for wave := range 3 {
		var all []*rawConn
		for i := range clients {
			c := w.rawPost("HTTP/1.1", listenTo(fmt.Sprint(i), onlyA))
			c.response()
			all = append(all, c)
		}
		if n := w.hub.Len(); n != clients {
			t.Errorf("wave %d: %d streams", wave, n)
		}
		w.hub.Publish(listen.Change{Keys: []string{a}})
		for i, c := range all {
			if i%2 == 0 {
				_ = c.Conn.(*net.TCPConn).SetLinger(0) // so that it is reset
			}
			c.Close()
		}
		until(t, "their streams and goroutines end", func() bool { return w.hub.Len() == 0 && runtime.NumGoroutine() <= before })
	}
}

// A hundred clients that never read cost those that do nothing but what the kernel holds for them.
func TestHTTPStalledReadersCostOthersNothing(t *testing.T) {
	const stalled = 100
	w := startWeb(t, nil, nil)
	uri := "test://top/" + strings.Repeat("x", 4000)
	for range stalled {
		c := w.rawPost("HTTP/1.1", listenTo("1", `"resourceSubscriptions":["`+uri+`"]`))
		c.response()
	}
	s := w.listen("1", onlyA)
	for range 20 {
		w.hub.Publish(listen.Change{Keys: []string{a, uri}})
		s.raw(updated("1", a))
	}
	w.post(read("1", b)).want(t, http.StatusOK)
	w.leave()
}
