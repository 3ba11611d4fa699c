package transport

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Notifications of a legacy session, which are untagged.
func legacyUpdated(uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}`
}

const legacyListChanged = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`

func (w *web) get(session string) *events {
	w.t.Helper()
	return w.stream(http.MethodGet, "", headerSession, session, "Accept", "text/event-stream")
}

func TestHTTPSessionIDsAreVisibleAndNeverTheSame(t *testing.T) {
	w := startWeb(t, nil, nil)
	seen := map[string]bool{}
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "1999-01-01"} {
		r := w.post(initialize("0", version)).want(t, http.StatusOK, `"id":0`)
		id := r.header.Get(headerSession)
		if len(id) < 22 || strings.ContainsFunc(id, func(c rune) bool { return c < 0x21 || c > 0x7e }) || seen[id] {
			t.Errorf("session id %q", id)
		}
		seen[id] = true
		if version == "1999-01-01" {
			version = "2025-11-25"
		}
		r.want(t, http.StatusOK, `"protocolVersion":"`+version+`"`)
		// What follows may come without the header of the version, and with that of another.
		w.in(id, legacy("1", "ping", "")).want(t, http.StatusOK, `"result":{}`)
		w.in(id, legacy("1", "tools/list", ""), headerVersion, "2025-06-18").want(t, http.StatusOK, `"tools":[]`)
	}
}

func TestHTTPSessionsHaveSubscriptionsOfTheirOwn(t *testing.T) {
	w := startWeb(t, nil, nil)
	one, two := w.open("2025-11-25"), w.open("2025-11-25")
	s1, s2 := w.get(one), w.get(two)
	w.in(one, legacy("1", "resources/subscribe", `"uri":"`+a+`"`)).want(t, http.StatusOK, `"result":{}`)
	w.in(two, legacy("1", "resources/subscribe", `"uri":"`+b+`"`)).want(t, http.StatusOK, `"result":{}`)
	w.hub.Publish(listen.Change{Keys: []string{a}})
	s1.raw(legacyUpdated(a))
	w.hub.Publish(listen.Change{Keys: []string{b}})
	s2.raw(legacyUpdated(b))
	w.in(one, legacy("2", "resources/unsubscribe", `"uri":"`+a+`"`)).want(t, http.StatusOK)
	w.hub.Publish(listen.Change{Keys: []string{a}})
	w.hub.Publish(listen.Change{List: true})
	s1.raw(legacyListChanged)
	s2.raw(legacyListChanged)
	w.in(one, legacy("3", "resources/subscribe", "")).want(t, http.StatusOK, "-32602")
}

func TestHTTPChangesStayOwedWhileNoStreamIsOpen(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-06-18")
		w.in(id, legacy("1", "resources/subscribe", `"uri":"`+a+`"`)).want(t, http.StatusOK)
		w.hub.Publish(listen.Change{Keys: []string{a}})
		s := w.get(id)
		s.raw(legacyUpdated(a))
		s.close()
		synctest.Wait()
		if n := w.e.unsent(id); n != 0 {
			t.Errorf("%d bytes are kept for what is not owed", n)
		}
		after(time.Second)
		for range 3 {
			w.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		}
		s = w.get(id)
		first, _ := s.next()
		second, _ := s.next()
		if got := first + "\n" + second; !strings.Contains(got, "updated") || !strings.Contains(got, "list_changed") {
			t.Errorf("got %s", got)
		}
	})
}

// unsent is how many bytes an idle session keeps of its last stream.
func (e *Endpoint) unsent(session string) int {
	e.mu.Lock()
	s := e.sessions[session]
	e.mu.Unlock()
	s.voice <- struct{}{}
	defer func() { <-s.voice }()
	return cap(s.unsent)
}

func TestHTTPASecondGetTakesTheStreamOver(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		first := w.get(id)
		second := w.get(id)
		first.end()
		w.hub.Publish(listen.Change{List: true})
		second.raw(legacyListChanged)
		third := w.get(id)
		second.end()
		after(time.Second)
		w.hub.Publish(listen.Change{List: true})
		third.raw(legacyListChanged)
	})
}

// The client of the first stream has gone without a word, in the middle of a write: what was on its way is said again.
func TestHTTPWhatAStalledGetWasToldIsToldAgain(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		dead := w.raw("GET /mcp HTTP/1.1\nHost: 127.0.0.1\nMcp-Session-Id: "+id, "")
		dead.response()
		w.hub.Publish(listen.Change{List: true})
		synctest.Wait() // the write is blocked: nobody reads
		begun := time.Now()
		s := w.get(id)
		s.raw(legacyListChanged)
		if took := time.Since(begun); took > lastWords {
			t.Errorf("the new stream waits %v for the old one", took)
		}
		after(time.Second)
		w.hub.Publish(listen.Change{List: true})
		s.raw(legacyListChanged)
	})
}

// What the server says to a client that was replaced twice over has a deadline too.
func TestHTTPAReplacedGetThatIsNotTakenEnds(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		var gets []*rawConn
		for range 3 {
			gets = append(gets, w.raw("GET /mcp HTTP/1.1\nHost: 127.0.0.1\nMcp-Session-Id: "+id, ""))
			synctest.Wait()
		}
		after(w.e.opts.WriteTimeout)
		if n, err := gets[1].Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes are still to be had", n)
		}
	})
}

func TestHTTPDeleteEndsASession(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		s := w.get(id)
		gate := make(chan struct{})
		w.cat.block[a] = gate
		blocked := make(chan reply)
		go func() { blocked <- w.in(id, legacy("1", "resources/read", `"uri":"`+a+`"`)) }()
		synctest.Wait()
		if r := w.ask(http.MethodDelete, "", headerSession, id).want(t, http.StatusNoContent); r.body != "" {
			t.Errorf("body %q", r.body)
		}
		s.end()
		(<-blocked).wantError(t, http.StatusOK, "1", -32600, "ended")
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			w.ask(method, "", headerSession, id).want(t, http.StatusNotFound)
		}
		w.in(id, legacy("1", "ping", "")).want(t, http.StatusNotFound)
		w.post(initialize("2", "2025-11-25"), headerSession, id).want(t, http.StatusOK)
	})
}

func TestHTTPIdleSessionsEnd(t *testing.T) {
	const timeout = 10 * time.Minute
	inBubble(t, nil, &HTTPOptions{SessionTimeout: timeout}, func(t *testing.T, w *web) {
		idle, busy, watching := w.open("2025-11-25"), w.open("2025-11-25"), w.open("2025-11-25")
		s := w.get(watching)
		go io.Copy(io.Discard, s.body)
		for range 4 {
			after(timeout - time.Second)
			w.in(busy, legacy("1", "ping", "")).want(t, http.StatusOK)
		}
		w.in(idle, legacy("1", "ping", "")).want(t, http.StatusNotFound)
		w.in(watching, legacy("1", "ping", "")).want(t, http.StatusOK)
		s.close()
		after(timeout - time.Second)
		if w.hub.Len() != 2 {
			t.Errorf("%d sessions", w.hub.Len())
		}
		after(time.Second)
		if w.hub.Len() != 0 {
			t.Errorf("%d sessions", w.hub.Len())
		}
		w.in(watching, legacy("1", "ping", "")).want(t, http.StatusNotFound)
	})
}

// A session of which the client has not learned the name is of no use to anybody.
func TestHTTPASessionThatIsNotTakenEnds(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		c := w.rawPost("HTTP/1.1", initialize("1", "2025-11-25"))
		synctest.Wait()
		if w.hub.Len() != 1 {
			t.Errorf("%d sessions", w.hub.Len())
		}
		c.Close()
		synctest.Wait()
		if w.hub.Len() != 0 {
			t.Errorf("%d sessions", w.hub.Len())
		}
	})
}

// A cancelled request has no answer, but its POST has an end.
func TestHTTPCancellationInASession(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		w.cat.block[a] = make(chan struct{})
		id, other := w.open("2025-11-25"), w.open("2025-11-25")
		blocked := make(chan reply)
		go func() { blocked <- w.in(id, legacy("1", "resources/read", `"uri":"`+a+`"`)) }()
		synctest.Wait()
		w.in(other, cancel("1")).want(t, http.StatusAccepted)
		w.in(id, cancel(`"1"`)).want(t, http.StatusAccepted)
		w.post(cancel("1")).want(t, http.StatusAccepted)
		synctest.Wait()
		if w.cat.busy() != 1 {
			t.Error("a cancellation reached what it does not name")
		}
		w.in(id, cancel("1")).want(t, http.StatusAccepted)
		if r := (<-blocked).want(t, http.StatusAccepted); r.body != "" {
			t.Errorf("answered %s", r.body)
		}
	})
}

// The client that leaves a subscribe is subscribed all the same, the one that leaves a read stops the work.
func TestHTTPDisconnectInASession(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		w.cat.slowBaseline = make(chan struct{})
		w.cat.block[b] = make(chan struct{})
		subscribe := w.rawPost("HTTP/1.1", legacy("1", "resources/subscribe", `"uri":"`+a+`"`), "Mcp-Session-Id: "+id)
		reading := w.rawPost("HTTP/1.1", legacy("2", "resources/read", `"uri":"`+b+`"`), "Mcp-Session-Id: "+id)
		synctest.Wait()
		subscribe.Close()
		reading.Close()
		synctest.Wait()
		if w.cat.busy() != 0 {
			t.Error("a read goes on that nobody waits for")
		}
		close(w.cat.slowBaseline)
		synctest.Wait()
		w.hub.Publish(listen.Change{Keys: []string{a}})
		w.get(id).raw(legacyUpdated(a))
	})
}

// Subscriptions take effect one after the other, and one that waits its turn can be cancelled.
func TestHTTPSubscriptionsOfASessionAreOrdered(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		id := w.open("2025-11-25")
		w.cat.slowBaseline = make(chan struct{})
		answers := make(chan reply, 3)
		for i, method := range []string{"subscribe", "unsubscribe", "subscribe"} {
			go func() { answers <- w.in(id, legacy(fmt.Sprint(i), "resources/"+method, `"uri":"`+a+`"`)) }()
			synctest.Wait()
		}
		w.in(id, cancel("2")).want(t, http.StatusAccepted)
		(<-answers).want(t, http.StatusAccepted)
		close(w.cat.slowBaseline)
		(<-answers).want(t, http.StatusOK)
		(<-answers).want(t, http.StatusOK)
		w.hub.Publish(listen.Change{Keys: []string{a}})
		w.hub.Publish(listen.Change{List: true})
		w.get(id).raw(legacyListChanged)
	})
}

func TestHTTPBatches(t *testing.T) {
	w := startWeb(t, nil, nil)
	id := w.open("2025-03-26")
	r := w.in(id, "[ "+strings.Join([]string{
		legacy("1", "ping", ""),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		legacy(`"two"`, "resources/read", `"uri":"test://top/none"`),
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":9,"result":{}}`,
		initialize("3", "2025-03-26"),
		modern("4", "resources/list", ""),
		legacy("5", "resources/subscribe", `"uri":"`+a+`"`),
	}, ",")+"]").want(t, http.StatusOK)
	var got []string
	for _, part := range strings.Split(strings.Trim(r.body, "[]"), `{"jsonrpc":"2.0",`)[1:] {
		got = append(got, strings.TrimRight(part, ","))
	}
	want := []string{`"id":1,"result":{}}`, `"id":"two","error":{"code":-32002`, `"error":{"code":-32600`, `"id":3,"error":{"code":-32600`,
		`"id":4,"error":{"code":-32600`, `"id":5,"result":{}}`}
	if len(got) != len(want) || r.header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %s", r.body)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("answer %d is %s, want %s", i, got[i], want[i])
		}
	}
	w.in(id, `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`).want(t, http.StatusAccepted)
	w.in(id, `[]`).wantError(t, http.StatusBadRequest, "", -32600, "empty")
	w.in(id, `[1`).wantError(t, http.StatusBadRequest, "", -32700)
	w.in(id, "["+legacy("1", "ping", "")+"]", "Accept", "text/event-stream").want(t, http.StatusNotAcceptable)
	w.in("gone", "["+legacy("1", "ping", "")+"]").want(t, http.StatusNotFound)
	// The header of the modern revision is no unknown one.
	for _, session := range []string{id, "gone", ""} {
		for body, code := range map[string]int{"[" + modern("1", "server/discover", "") + "]": -32600, "[" + legacy("1", "ping", "") + "]": -32600, "[]": -32600, "[1": -32700} {
			w.in(session, body, headerVersion, "2026-07-28").wantError(t, http.StatusBadRequest, "", code)
		}
	}
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		w.in(w.open(version), "["+legacy("1", "ping", "")+"]").wantError(t, http.StatusBadRequest, "", -32600, "2025-03-26")
	}
}

// What a batch holds of memory is counted, and a batch that finds none has the rest refused.
func TestHTTPBatchesKeepWithinTheirMemory(t *testing.T) {
	w := startWeb(t, &Options{MaxReadMemory: 1 << 20}, nil)
	w.cat.contents[control] = withControl(100 << 10)().contents[control]
	id := w.open("2025-03-26")
	if !w.e.batches.TryAcquire(w.e.size - 700<<10) {
		t.Fatal("memory is not free")
	}
	one := func(id string) string { return legacy(id, "resources/read", `"uri":"`+control+`"`) }
	r := w.in(id, "["+one("1")+","+one("2")+","+legacy("3", "ping", "")+"]").want(t, http.StatusOK,
		`"id":2,"error":{"code":-32603,"message":"the answers to batches are too large`, `"id":3,"result":{}`)
	if !strings.HasPrefix(r.body, `[{"jsonrpc":"2.0","id":1,"result"`) {
		t.Errorf("got %.200s", r.body)
	}
	w.e.batches.Release(w.e.size - 700<<10)
}
