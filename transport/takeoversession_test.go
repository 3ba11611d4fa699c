package transport

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// rawGet asks for the stream of a session.
func (w *web) rawGet(session string) *rawConn {
	w.t.Helper()
	return w.raw("GET /mcp HTTP/1.1\nHost: 127.0.0.1\nAccept: text/event-stream\nMcp-Session-Id: "+session, "")
}

// carried is how many sessions have a stream that somebody carries.
func (e *Endpoint) carried() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.sessions {
		if s.carried != nil {
			n++
		}
	}
	return n
}

// stuck is how many sockets have something to send that their clients did not take at once.
func (e *Endpoint) stuck() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sockets.mu.Lock()
	defer e.sockets.mu.Unlock()
	for k := range e.moored.all() {
		if k.busy && e.sockets.workers == 0 && len(e.exchanges) == 0 {
			n++
		}
	}
	return n
}

// The stream of a session is told, replaced, lost, found again and ended, and what changes meanwhile stays owed.
func TestHTTPStreamsOfSessionsComeAndGo(t *testing.T) {
	w := startWeb(t, nil, nil)
	taken := func(n int) bool { return kept || w.e.moorings() == n }
	id, other := w.open("2025-03-26"), w.open("2025-11-25")
	w.in(id, legacy("1", "resources/subscribe", `"uri":"`+a+`"`)).want(t, http.StatusOK)
	beside := w.get(other)
	first := w.get(id)
	until(t, "both are taken over", func() bool { return taken(2) })
	for range 3 {
		w.hub.Publish(listen.Change{Keys: []string{a}})
		first.raw(legacyUpdated(a))
	}
	second := w.get(id)
	first.end()
	w.hub.Publish(listen.Change{Keys: []string{a}})
	second.raw(legacyUpdated(a))
	until(t, "the first is let go", func() bool { return taken(2) })

	second.close()
	until(t, "the disconnect is noticed", func() bool { return w.e.carried() == 1 && taken(1) })
	w.hub.Publish(listen.Change{Keys: []string{a}})
	third := w.get(id)
	third.raw(legacyUpdated(a))

	w.ask(http.MethodDelete, "", headerSession, id).want(t, http.StatusNoContent)
	third.end()
	until(t, "nothing is left of it", func() bool { return w.hub.Len() == 1 && w.e.carried() == 1 && taken(1) })
	w.hub.Publish(listen.Change{List: true})
	beside.raw(legacyListChanged)
	w.shutdown()
	beside.end()
	w.ask(http.MethodGet, "", headerSession, other).want(t, http.StatusServiceUnavailable)
}

// A client that takes nothing keeps nobody waiting, the one that replaces it no longer than a moment, and what it was told in part
// is told to that.
func TestHTTPWhatAStalledGetWasToldInPartIsToldAgain(t *testing.T) {
	w := serveNarrow(t, &HTTPOptions{WriteTimeout: time.Hour})
	id, other := w.open("2025-11-25"), w.open("2025-11-25")
	owed := map[string]bool{}
	for _, uri := range many() {
		w.in(id, legacy("1", "resources/subscribe", `"uri":"`+uri+`"`)).want(t, http.StatusOK)
		owed[legacyUpdated(uri)] = true
	}
	beside := w.get(other)
	stalled := w.rawGet(id)
	before := &events{t: t, lines: bufio.NewScanner(stalled.response().Body)}
	before.lines.Buffer(nil, 4<<20)
	w.hub.Publish(listen.Change{Keys: many(), List: true})
	beside.raw(legacyListChanged)
	if _, err := stalled.in.Peek(1); err != nil {
		t.Fatal(err)
	}
	until(t, "a write to the client that takes nothing is on its way", func() bool { return kept || w.e.stuck() == 1 })

	s := w.get(id)
	for frame, ok := before.next(); ok; frame, ok = before.next() { // whole ones
		delete(owed, frame)
	}
	if len(owed) == 0 {
		t.Fatal("the client that took nothing was told all")
	}
	for len(owed) > 0 {
		frame, ok := s.next()
		if !ok {
			t.Fatalf("%d changes are told to nobody: %v", len(owed), s.lines.Err())
		}
		delete(owed, frame)
	}
}

// Deleting a session that has a stalled reader leaves nothing behind.
func TestHTTPDeleteEndsAStalledStream(t *testing.T) {
	w := serveNarrow(t, &HTTPOptions{WriteTimeout: time.Hour})
	id := w.open("2025-11-25")
	for _, uri := range many() {
		w.in(id, legacy("1", "resources/subscribe", `"uri":"`+uri+`"`)).want(t, http.StatusOK)
	}
	stalled := w.rawGet(id)
	stalled.response()
	w.hub.Publish(listen.Change{Keys: many()})
	until(t, "a write to it is on its way", func() bool { return w.e.stuck() == 1 })
	w.ask(http.MethodDelete, "", headerSession, id).want(t, http.StatusNoContent)
	until(t, "nothing is left", func() bool { return w.hub.Len() == 0 && w.e.moorings() == 0 })
}

// That its stream is over is said to a client as soon as it is, and not to one that takes nothing for long.
func TestHTTPTheEndOfAStreamIsSaidForAMoment(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		w.rawGet(id).response()
		synctest.Wait()
		if n := w.e.moorings(); n != 1 {
			t.Errorf("%d are taken over", n)
		}
		w.ask(http.MethodDelete, "", headerSession, id).want(t, http.StatusNoContent)
		after(lastWords)
		if n := w.e.moorings(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// resting waits until nobody holds one of the streams that have taken their connections over, and returns them.
func (e *Endpoint) resting(t *testing.T, n int) (all []*socket) {
	t.Helper()
	until(t, "all streams rest", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sockets.mu.Lock()
		defer e.sockets.mu.Unlock()
		all = nil
		for k := range e.moored.all() {
			if !k.busy && !k.ready.queued() {
				all = append(all, k)
			}
		}
		return len(all) == n && e.sockets.workers == 0
	})
	return all
}

// timed is a listener whose connections count the deadlines that they are given for writes.
type timed struct {
	net.Listener
	set *atomic.Int64
}

type timedConn struct {
	net.Conn
	set *atomic.Int64
}

func (l timed) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return timedConn{c, l.set}, err
}

func (c timedConn) SetWriteDeadline(at time.Time) error {
	c.set.Add(1)
	return c.Conn.SetWriteDeadline(at)
}

// Whoever holds a stream when it is to end may need long until it has a processor, and does not lose the last words for that.
func TestHTTPNoDeadlineWhereNoWriteWaits(t *testing.T) {
	var set atomic.Int64
	w := newWeb(t, listen.NewHub(nil), nil, nil)
	srv := httptest.NewUnstartedServer(w.e)
	srv.Listener = timed{srv.Listener, &set}
	serveAs(t, w, srv)
	id := w.open("2025-11-25")
	s := w.get(id)
	k := w.e.resting(t, 1)[0]
	k.of.take(k) // as one does who pulls from it
	before := set.Load()
	k.of.interrupt(k)
	if n := set.Load() - before; n != 0 {
		t.Errorf("a stream that nobody writes to is given %d deadlines", n)
	}
	k.of.release(k)
	s.end()
}
