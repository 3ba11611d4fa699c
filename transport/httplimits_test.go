package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func (r reply) wantBusy(t *testing.T, id string) {
	t.Helper()
	r.wantError(t, http.StatusServiceUnavailable, id, -32603, "later")
	if r.header.Get("Retry-After") != retryAfter {
		t.Error("no Retry-After")
	}
	if !r.last {
		t.Error("the connection is kept")
	}
}

func TestHTTPRequestsBeyondTheLimitAreRefused(t *testing.T) {
	inBubble(t, nil, &HTTPOptions{MaxRequests: 2}, func(t *testing.T, w *web) {
		gate := make(chan struct{})
		w.cat.block[a] = gate
		answers := make(chan reply, 2)
		for range 2 {
			go func() { answers <- w.post(read("1", a)) }()
		}
		synctest.Wait()
		w.post(read("7", b)).wantBusy(t, "7")
		w.post(initialize("8", "2025-11-25")).wantBusy(t, "8")
		w.post(listenTo("9", onlyA)).wantBusy(t, "9")
		w.post(cancel("1")).want(t, http.StatusAccepted)
		close(gate)
		(<-answers).want(t, http.StatusOK)
		(<-answers).want(t, http.StatusOK)
		// Streams do not count.
		for i := range 5 {
			w.listen(fmt.Sprint(i), onlyA)
		}
		w.post(read("7", b)).want(t, http.StatusOK)
	})
}

func TestHTTPListensBeyondTheLimitAreRefused(t *testing.T) {
	inBubble(t, nil, &HTTPOptions{MaxListensPerClient: 2}, func(t *testing.T, w *web) {
		s := w.listen("1", onlyA)
		session := w.open("2025-11-25")
		for id, body := range map[string]string{"3": listenTo("3", onlyA), "4": initialize("4", "2025-11-25")} {
			refusal := w.post(body)
			refusal.wantBusy(t, id)
			refusal.want(t, http.StatusServiceUnavailable, "this client", "listens and sessions")
		}
		s.close()
		synctest.Wait()
		w.listen("5", onlyA)
		w.ask(http.MethodDelete, "", headerSession, session).want(t, http.StatusNoContent)
		w.open("2025-11-25")
	})
}

// Who is refused keeps no descriptor, and loses no stream of the same connection.
func TestHTTPRefusedClientsKeepNoConnection(t *testing.T) {
	opts := &HTTPOptions{MaxListensPerClient: 1}
	t.Run("HTTP/1", func(t *testing.T) {
		inBubble(t, nil, opts, func(t *testing.T, w *web) {
			s := w.listen("1", onlyA)
			for _, body := range []string{listenTo("2", onlyA), initialize("3", "2025-11-25")} {
				c := w.rawPost("HTTP/1.1", body)
				if res := c.response(); res.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("status %d", res.StatusCode)
				} else if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Error(err)
				}
				after(time.Second) // net/http waits half of that
				if _, err := c.Write([]byte("P")); err == nil {
					t.Errorf("the connection is open after the refusal of %s", body)
				}
			}
			w.hub.Publish(listen.Change{Keys: []string{a}})
			s.raw(updated("1", a))
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		inBubbleSpeaking(t, onlyHTTP2(), nil, opts, func(t *testing.T, w *web) {
			s := w.listen("1", onlyA)
			synctest.Wait() // the client uses a new connection before it knows that others can use it, too
			for range 3 {
				w.post(listenTo("2", onlyA)).wantError(t, http.StatusServiceUnavailable, "2", -32603, "later")
			}
			w.hub.Publish(listen.Change{Keys: []string{a}})
			s.raw(updated("1", a))
			if n := w.dials.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	})
}

func TestHTTPListensBeyondThoseOfTheHubAreRefused(t *testing.T) {
	w := newWeb(t, listen.NewHub(&listen.Options{MaxStreams: 1}), nil, nil)
	serveOn(t, w)
	w.listen("1", onlyA)
	for id, body := range map[string]string{"2": listenTo("2", onlyA), "3": initialize("3", "2025-11-25")} {
		refusal := w.post(body)
		refusal.wantBusy(t, id)
		refusal.want(t, http.StatusServiceUnavailable, "listens and sessions")
	}
}

func TestHTTPBodiesHaveALimit(t *testing.T) {
	const limit = 64 << 10
	w := startWeb(t, nil, &HTTPOptions{MaxBody: limit})
	message := func(size int) string {
		text := modern(`"x"`, "server/discover", "")
		return text + strings.Repeat(" ", size-len(text))
	}
	for _, size := range []int{500, freeBody - 1, freeBody, freeBody + 1, freeBody + 2, 2 * freeBody, limit - 1, limit} {
		for _, chunked := range []bool{false, true} {
			r := w.request(context.Background(), http.MethodPost, message(size))
			if chunked {
				r.ContentLength = -1
			}
			w.do(r).want(t, http.StatusOK, `"id":"x"`)
		}
	}
	for _, chunked := range []bool{false, true} {
		r := w.request(context.Background(), http.MethodPost, message(limit+1))
		if chunked {
			r.ContentLength = -1
		}
		w.do(r).wantError(t, http.StatusRequestEntityTooLarge, `"x"`, -32600, fmt.Sprint(limit))
	}
	// Also the longest of an endpoint that allows more than a quarter of the memory there usually is.
	larger := startWeb(t, nil, &HTTPOptions{MaxBody: 16 << 20})
	larger.post(message(16<<20)).want(t, http.StatusOK, `"id":"x"`)
	c := w.raw(fmt.Sprintf("POST /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\nExpect: 100-continue\nContent-Length: %d", limit+1), "")
	if res := c.response(); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}

// spaced is a request of so many bytes.
func spaced(id string, size int64) string {
	body := modern(id, "server/discover", "")
	return body + strings.Repeat(" ", int(size)-len(body))
}

// unfinished is a request that claims to be as long as one may be, and of which so many bytes come.
func (w *web) unfinished(size int64, more string) *rawConn {
	w.t.Helper()
	return w.raw(fmt.Sprintf("POST /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\nContent-Length: %d%s",
		w.e.opts.MaxBody, more), spaced("1", size))
}

// A claim costs nothing: only what has come holds memory.
func TestHTTPBodiesHoldWhatHasCome(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		for range 4 * w.e.size / w.e.opts.MaxBody {
			w.unfinished(4200, "")
		}
		synctest.Wait()
		w.post(spaced("1", w.e.opts.MaxBody)).want(t, http.StatusOK)
	})
}

// guardOf admits those with these tokens.
func guardOf(t *testing.T, text string) *Guard {
	t.Helper()
	tokens, err := ParseTokens(text)
	if err != nil {
		t.Fatal(err)
	}
	return newTestGuard(t, &GuardOptions{Tokens: tokens})
}

// Bodies that are longer than most and never end keep no room but that of others like them, and of the same client.
func TestHTTPBodiesShareTheirMemory(t *testing.T) {
	guard := guardOf(t, "ann token-of-ann\nbob token-of-bob\ncyd token-of-cyd\ndan token-of-dan\neve token-of-eve")
	inBubble(t, nil, &HTTPOptions{Guard: guard}, func(t *testing.T, w *web) {
		const bearer = "Bearer token-of-"
		var slow []*rawConn
		fill := func(client string) {
			left := w.e.bodies.part
			for size := int64(freeBody+1) << 9; size > freeBody+1; size /= 2 { // of buffers
				for ; left >= size; left -= size {
					slow = append(slow, w.unfinished(size-1, "\nAuthorization: "+bearer+client))
				}
			}
			synctest.Wait()
		}
		large := spaced("1", 16*freeBody)
		fill("ann")
		refusal := w.post(large, "Authorization", bearer+"ann")
		refusal.wantBusy(t, "1")
		refusal.want(t, http.StatusServiceUnavailable, "this client's requests", "memory")
		w.post(spaced("1", freeBody), "Authorization", bearer+"ann").want(t, http.StatusOK)
		w.post(large, "Authorization", bearer+"eve").want(t, http.StatusOK)
		for _, client := range []string{"bob", "cyd", "dan"} {
			fill(client)
		}
		refusal = w.post(large, "Authorization", bearer+"eve")
		refusal.wantBusy(t, "1")
		refusal.want(t, http.StatusServiceUnavailable, "bodies of all requests", "memory")
		w.post(spaced("1", freeBody), "Authorization", bearer+"eve").want(t, http.StatusOK)
		after(w.e.opts.WriteTimeout)
		w.post(large, "Authorization", bearer+"ann").want(t, http.StatusOK)
		if res := slow[0].response(); res.StatusCode != http.StatusRequestTimeout {
			t.Errorf("status %d", res.StatusCode)
		}
	})
}

// Who is not let in and takes no answer holds no more than so many requests, and keeps none of those out who are let in.
func TestHTTPAnswersToStrangersHaveALimit(t *testing.T) {
	var log strings.Builder
	opts := &HTTPOptions{MaxRequests: 2, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))}
	inBubble(t, nil, opts, func(t *testing.T, w *web) {
		ask := func() *rawConn {
			c := w.raw("POST /mcp HTTP/1.1\nHost: elsewhere.example\nContent-Length: 0", "")
			synctest.Wait()
			return c
		}
		stalled := []*rawConn{ask(), ask()}
		begun := time.Now()
		if _, err := ask().Read(make([]byte, 1)); err != io.EOF || time.Since(begun) >= w.e.opts.WriteTimeout {
			t.Errorf("one more has %v after %v", err, time.Since(begun))
		}
		for range 3 {
			w.post(read("1", a)).want(t, http.StatusOK)
		}
		stalled[0].response()
		synctest.Wait()
		if res := ask().response(); res.StatusCode != http.StatusForbidden {
			t.Errorf("status %d", res.StatusCode)
		}
		stalled[1].Close()
		synctest.Wait()
	})
	if log.Len() != 0 {
		t.Errorf("the log says %s", &log)
	}
}

// What a client has not sent yet, and the answers that it does not take, are no more than what it may ask for.
func TestHTTPRequestsOfOneClientHaveALimit(t *testing.T) {
	guard := guardOf(t, "ann token-of-ann\nbob token-of-bob")
	inBubble(t, nil, &HTTPOptions{Guard: guard, MaxRequests: 2, MaxListensPerClient: 1}, func(t *testing.T, w *web) {
		const ann, bob = "Bearer token-of-ann", "Bearer token-of-bob"
		for range 2 {
			w.unfinished(1000, "\nAuthorization: "+ann)
		}
		w.rawPost("HTTP/1.1", read("1", "test://top/none"), "Authorization: "+ann) // whose answer is not taken
		synctest.Wait()
		refusal := w.post(read("2", a), "Authorization", ann)
		refusal.wantBusy(t, "")
		refusal.want(t, http.StatusServiceUnavailable, "this client")
		w.post(read("2", a), "Authorization", bob).want(t, http.StatusOK)
		after(w.e.opts.WriteTimeout)
		w.post(read("2", a), "Authorization", ann).want(t, http.StatusOK)
	})
}

// A listen lasts, and some clients take their answer slowly: the bodies of their requests do not last as long.
func TestHTTPAnswersHoldNoBody(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		long := func(body string) string { return body + strings.Repeat(" ", int(w.e.opts.MaxBody)-len(body)) }
		for range w.e.size / w.e.opts.MaxBody {
			w.stream(http.MethodPost, long(listenTo("1", onlyA)))
			w.rawPost("HTTP/1.1", long(read("2", a)))
			synctest.Wait()
		}
		w.post(long(read("3", a))).want(t, http.StatusOK)
	})
}

// Also who is refused before the body is looked at does not keep the server waiting for it.
func TestHTTPBodiesMustComeInTime(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		for _, head := range []string{
			"POST /other HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 100",
			"POST /mcp HTTP/1.1\nHost: elsewhere.example\nContent-Length: 100",
			"DELETE /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 100",
			"POST /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\nContent-Length: 100",
			"POST /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\nTransfer-Encoding: chunked",
		} {
			c := w.raw(head, "")
			go io.Copy(io.Discard, c)
			after(w.e.opts.WriteTimeout)
			if _, err := c.Write([]byte("x")); err == nil {
				t.Errorf("still reads: %s", head)
			}
		}
	})
}

func TestHTTPKeepsStreamsAlive(t *testing.T) {
	inBubble(t, nil, &HTTPOptions{Keepalive: 10 * time.Second}, func(t *testing.T, w *web) {
		session := w.open("2025-11-25")
		begun := time.Now()
		for _, s := range []*events{w.listen("1", onlyA), w.get(session)} {
			for range 3 {
				begun = time.Now()
				if line, ok := s.line(); !ok || line != ":" {
					t.Fatalf("got %q", line)
				}
				if blank, _ := s.line(); blank != "" {
					t.Errorf("got %q", blank)
				}
			}
			if waited := time.Since(begun); waited != 10*time.Second {
				t.Errorf("a comment after %v", waited)
			}
		}
		// What is said counts.
		s := w.listen("2", onlyA)
		after(9 * time.Second)
		w.hub.Publish(listen.Change{Keys: []string{a}})
		s.raw(updated("2", a))
		begun = time.Now()
		if line, _ := s.line(); line != ":" || time.Since(begun) != 10*time.Second {
			t.Errorf("%q after %v", line, time.Since(begun))
		}
	})
}

// Work has no limit in time, and an answer has its own.
func TestWorkMayTakeLong(t *testing.T) {
	for name, protocols := range map[string]*http.Protocols{"HTTP/1": new(http.Protocols), "HTTP/2": onlyHTTP2()} {
		t.Run(name, func(t *testing.T) { workTakesLong(t, protocols) })
	}
}

func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

func workTakesLong(t *testing.T, protocols *http.Protocols) {
	inBubbleSpeaking(t, protocols, nil, nil, func(t *testing.T, w *web) {
		gate := make(chan struct{})
		w.cat.block[a] = gate
		blocked := make(chan reply)
		go func() { blocked <- w.post(read("1", a)) }()
		after(time.Hour)
		close(gate)
		(<-blocked).want(t, http.StatusOK, `"id":1`)
		// So has the next one on the connection, which this endpoint need not write.
		after(time.Hour)
		w.ask(http.MethodPut, "").want(t, http.StatusMethodNotAllowed)
	})
}

// Over HTTP/2 a deadline ends a stream even if nothing is written, and a client that reads nothing holds up no other stream
// of its connection.
func TestHTTP2StreamsLiveLong(t *testing.T) {
	inBubbleSpeaking(t, onlyHTTP2(), nil, &HTTPOptions{Keepalive: time.Hour}, func(t *testing.T, w *web) {
		s, stalled := w.listen("1", onlyA), w.listen("2", onlyB)
		long := w.open("2025-11-25")
		legacy := w.get(long)
		after(3 * time.Hour / 2)
		for range 2000 { // more than the client's window holds, and longer than it may be full
			w.hub.Publish(listen.Change{Keys: []string{b}})
			after(60 * time.Millisecond)
		}
		if w.hub.Len() != 2 {
			t.Errorf("%d streams", w.hub.Len())
		}
		stalled.close()
		w.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		s.raw(updated("1", a))
		legacy.raw(legacyListChanged)
		w.post(read("3", a)).want(t, http.StatusOK)
		if n := w.dials.Load(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

const onlyB = `"resourceSubscriptions":["` + b + `"]`

func TestHTTPStreamsArePaced(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		s := w.listen("1", onlyA)
		begun := time.Now()
		for range 3 {
			w.hub.Publish(listen.Change{Keys: []string{a}})
			s.raw(updated("1", a))
		}
		if took := time.Since(begun); took != 100*time.Millisecond {
			t.Errorf("three updates take %v", took)
		}
	})
}

// A client that reads nothing loses its own stream, after the time to write, and costs the others nothing.
func TestHTTPAStalledReaderLosesItsOwnStreamOnly(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		stalled := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
		stalled.response()
		s := w.listen("2", onlyA)
		for range 3 {
			w.hub.Publish(listen.Change{Keys: []string{a}})
			s.raw(updated("2", a))
		}
		if w.hub.Len() != 2 {
			t.Error("the stalled stream is gone at once")
		}
		w.post(read("3", a)).want(t, http.StatusOK)
		go io.Copy(io.Discard, s.body)
		after(w.e.opts.WriteTimeout)
		if w.hub.Len() != 1 {
			t.Errorf("%d streams", w.hub.Len())
		}
	})
}

// A client that stalls on a large answer holds memory no longer than the time to write, one that is merely slow is served.
func TestHTTPAStalledReaderGivesMemoryBack(t *testing.T) {
	inBubble(t, &Options{MaxReadMemory: 1 << 20}, nil, func(t *testing.T, w *web) {
		large := bytes.Repeat([]byte("x"), 500<<10)
		w.cat.contents["test://top/large"] = mcp.Contents{MIMEType: "text/plain", Data: large, Text: true}
		stalled := w.rawPost("HTTP/1.1", read("1", "test://top/large"))
		synctest.Wait()
		begun := time.Now()
		w.post(read("2", "test://top/large")).want(t, http.StatusOK)
		if waited := time.Since(begun); waited != w.e.opts.WriteTimeout {
			t.Errorf("waited %v", waited)
		}
		if _, err := io.ReadAll(stalled.in); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		slow := w.rawPost("HTTP/1.1", read("3", "test://top/large"))
		res := slow.response()
		got, buf := 0, make([]byte, renewal)
		for {
			after(w.e.opts.WriteTimeout / 2)
			n, err := io.ReadFull(res.Body, buf)
			got += n
			if err != nil {
				break
			}
		}
		if got < len(large) {
			t.Errorf("%d bytes came", got)
		}
		slow.Close()
		// A read that waits is let go of with its client.
		w.cat.takes = time.Hour
		first := w.rawPost("HTTP/1.1", read("4", "test://top/large"))
		second := w.rawPost("HTTP/1.1", read("5", "test://top/large"))
		synctest.Wait()
		second.Close()
		first.Close()
		synctest.Wait()
		if w.cat.busy() != 0 {
			t.Errorf("%d reads go on", w.cat.busy())
		}
	})
}

// What SECURITY.md says of clients that do not take what is held in the memory that reads share: each may keep the rest waiting for the time to write.
func TestHTTPStalledReadersKeepLargeReadsWaiting(t *testing.T) {
	const large, mid, dense = "test://top/large", "test://top/mid", "test://top/dense" // the sizes are a 64th of those there
	if NewServer(newFakeCatalogue(), listen.NewHub(nil), nil).mem.size != 64<<20 {
		t.Error("it is not 64 MiB that reads share")
	}
	for name, test := range map[string]struct {
		stalled []string
		waits   []string
		passes  []string
	}{
		"one":              {[]string{large}, nil, []string{large, mid}},
		"two":              {[]string{large, large}, []string{large}, []string{mid, a}},
		"and one waits":    {[]string{large, large, large}, []string{large, mid}, []string{a}},
		"a dense one":      {[]string{dense}, []string{large, mid, dense}, []string{a}},
		"before one dense": {[]string{mid, dense}, []string{large, mid, dense}, []string{a}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, &Options{MaxReadMemory: 1 << 20}, nil, func(t *testing.T, w *web) {
				for uri, data := range map[string][]byte{
					large: bytes.Repeat([]byte("x"), 256<<10), mid: bytes.Repeat([]byte("x"), 65<<10), dense: bytes.Repeat([]byte{1}, 256<<10),
				} {
					w.cat.contents[uri] = mcp.Contents{MIMEType: "text/plain", Data: data, Text: true}
				}
				for _, uri := range test.stalled {
					w.rawPost("HTTP/1.1", read("1", uri))
					synctest.Wait()
				}
				begun := time.Now()
				for _, uri := range test.passes {
					w.post(read("2", uri)).want(t, http.StatusOK)
				}
				w.post(modern("3", "resources/list", "")).want(t, http.StatusOK)
				if waited := time.Since(begun); waited != 0 {
					t.Errorf("%v wait %v", test.passes, waited)
				}
				if len(test.waits) == 0 {
					return
				}
				answered := make(chan time.Duration, len(test.waits))
				for _, uri := range test.waits {
					go func() {
						w.post(read("4", uri)).want(t, http.StatusOK)
						answered <- time.Since(begun)
					}()
				}
				for range test.waits {
					if waited := <-answered; waited < w.e.opts.WriteTimeout || waited > 3*w.e.opts.WriteTimeout {
						t.Errorf("one of %v waited %v", test.waits, waited)
					}
				}
			})
		})
	}
}

// The client that leaves ends the work on its request.
func TestHTTPDisconnectIsTheCancel(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		w.cat.block[a] = make(chan struct{})
		c := w.rawPost("HTTP/1.1", read("1", a))
		w.cat.slowBaseline = make(chan struct{})
		opening := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
		synctest.Wait()
		c.Close()
		opening.Close()
		synctest.Wait()
		if w.cat.busy() != 0 || w.hub.Len() != 0 {
			t.Errorf("%d reads, %d streams", w.cat.busy(), w.hub.Len())
		}
	})
}

func TestHTTPShutdownCompletesEveryListen(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		gate := make(chan struct{})
		w.cat.block[a] = gate
		s1, s2 := w.listen("1", onlyA), w.listen(`"2"`, `"resourcesListChanged":true`)
		with, without := w.open("2025-11-25"), w.open("2025-11-25")
		legacy := w.get(with)
		blocked := make(chan reply)
		go func() { blocked <- w.post(read("3", a)) }()
		synctest.Wait()
		w.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		ended := make(chan error)
		go func() { ended <- w.e.Shutdown(t.Context()) }()
		s1.raw(updated("1", a), completed("1"))
		s1.end()
		s2.raw(listChanged(`"2"`), completed(`"2"`))
		s2.end()
		legacy.raw(legacyListChanged)
		legacy.end()
		if w.hub.Len() != 0 {
			t.Errorf("%d streams are left", w.hub.Len())
		}
		for _, body := range []string{read("4", b), listenTo("4", onlyA), initialize("4", "2025-11-25"), cancel("1")} {
			r := w.post(body, headerSession, without)
			r.wantError(t, http.StatusServiceUnavailable, "", -32603, "shutting down")
		}
		select {
		case err := <-ended:
			t.Errorf("Shutdown returns %v before what is in flight", err)
		default:
		}
		close(gate)
		(<-blocked).want(t, http.StatusOK)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestHTTPShutdownCancelsWhatTakesTooLong(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		w.cat.block[a] = make(chan struct{})
		id := w.open("2025-03-26")
		stalled := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
		stalled.response()
		blocked := make(chan reply, 3)
		go func() { blocked <- w.post(read("3", a)) }()
		go func() { blocked <- w.in(id, legacy("3", "resources/read", `"uri":"`+a+`"`)) }()
		body := w.raw("POST /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\nContent-Length: 100", "{")
		unfinished := make(chan int)
		go func() { unfinished <- body.response().StatusCode }()
		w.rawPost("HTTP/1.1", read("4", a)) // nobody takes what is said to it at last
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begun := time.Now()
		if err := w.e.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begun); took > time.Second+lastWords {
			t.Errorf("it takes %v", took)
		}
		for range 2 {
			(<-blocked).wantError(t, http.StatusServiceUnavailable, "3", -32603, "shutting down")
		}
		if status := <-unfinished; status != http.StatusRequestTimeout {
			t.Errorf("status %d", status)
		}
	})
}

// Work that does not end holds up nobody: it is left behind.
func TestHTTPShutdownLeavesDeafWorkBehind(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, w *web) {
		w.cat.deaf = true
		gate := make(chan struct{})
		w.cat.block[a] = gate
		c := w.rawPost("HTTP/1.1", read("1", a))
		synctest.Wait()
		begun := time.Now()
		if err := w.e.Shutdown(canceled()); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begun); took != 2*lastWords {
			t.Errorf("it takes %v", took)
		}
		close(gate)
		c.Close()
		synctest.Wait()
	})
}
