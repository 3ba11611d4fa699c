package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// peer is a server under the control of a test: it answers nothing that the test does not make it answer. All of it
// lives inside a synctest bubble, where Wait means that the client has taken in everything.
type peer struct {
	t        *testing.T
	requests *bufio.Scanner
	out      *io.PipeWriter
	told     *lockedBuffer
	result   chan error // has what run returned
	stop     context.CancelFunc
	listener *listener
}

type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// take returns what was written since the last call.
func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func withPeer(t *testing.T, test func(*peer)) {
	synctest.Test(t, func(t *testing.T) {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		p := &peer{t: t, out: toClient, told: &lockedBuffer{}, result: make(chan error, 1), requests: bufio.NewScanner(fromClient)}
		c := newClient(toServer)
		read := make(chan error, 1)
		go func() { read <- c.read(fromServer) }()
		ctx, stop := context.WithCancel(t.Context())
		p.stop = stop
		p.listener = newListener(c, newFacts(p.told, false), slog.New(slog.DiscardHandler))
		p.listener.perListen, p.listener.spare, p.listener.grace = 2, 2, time.Second
		go func() { p.result <- p.listener.run(ctx) }()
		test(p)
		stop()
		fromClient.Close()
		toClient.Close()
		for range c.notices {
		}
		if err := <-read; err != nil {
			t.Errorf("read: %v", err)
		}
		p.listener.workers.Wait()
	})
}

// request takes the next message, checks its method and returns its id and the rest.
func (p *peer) request(method string) (id int64, params map[string]any) {
	p.t.Helper()
	if !p.requests.Scan() {
		p.t.Fatalf("no message, want %s", method)
	}
	var m struct {
		ID     int64
		Method string
		Params map[string]any
	}
	if err := json.Unmarshal(p.requests.Bytes(), &m); err != nil || m.Method != method {
		p.t.Fatalf("got %s, want %s", p.requests.Bytes(), method)
	}
	return m.ID, m.Params
}

func (p *peer) say(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
	synctest.Wait()
}

func (p *peer) answer(id int64, result string) {
	p.say(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)
}

func (p *peer) notify(listen int64, method, members string) {
	p.say(`{"jsonrpc":"2.0","method":"notifications/%s","params":{%s"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}}`, method, members, listen)
}

func (p *peer) acknowledge(listen int64, params map[string]any) {
	filter, err := json.Marshal(params["notifications"])
	if err != nil {
		p.t.Fatal(err)
	}
	p.notify(listen, "subscriptions/acknowledged", `"notifications":`+string(filter)+",")
}

func (p *peer) updated(listen int64, uri string) {
	p.notify(listen, "resources/updated", `"uri":"`+uri+`",`)
}

func (p *peer) changed(listen int64) { p.notify(listen, "resources/list_changed", "") }

func (p *peer) expect(facts ...string) {
	p.t.Helper()
	synctest.Wait()
	want := strings.Join(append(facts, ""), "\n")
	if got := p.told.take(); got != want {
		p.t.Fatalf("told %q, want %q", got, want)
	}
}

// list answers one walk of the list, with one resource a page.
func (p *peer) list(uris ...string) {
	p.t.Helper()
	id, _ := p.request("resources/list")
	for i, uri := range uris[:max(0, len(uris)-1)] {
		p.answer(id, fmt.Sprintf(`{"resources":[{"uri":%q}],"nextCursor":"%d"}`, uri, i))
		id, _ = p.request("resources/list")
	}
	if len(uris) == 0 {
		p.answer(id, `{"resources":[]}`)
		return
	}
	p.answer(id, fmt.Sprintf(`{"resources":[{"uri":%q}]}`, uris[len(uris)-1]))
}

// listens takes a listen for the given URIs.
func (p *peer) listens(uris ...string) (id int64, params map[string]any) {
	p.t.Helper()
	id, params = p.request("subscriptions/listen")
	got, err := json.Marshal(params["notifications"])
	if err != nil {
		p.t.Fatal(err)
	}
	want, err := json.Marshal(map[string]any{"resourceSubscriptions": uris})
	if err != nil {
		p.t.Fatal(err)
	}
	if string(got) != string(want) {
		p.t.Fatalf("listens to %s, want %s", got, want)
	}
	return id, params
}

// open answers everything up to the first walk and returns the id of the list's listen.
func (p *peer) open() int64 {
	p.t.Helper()
	id, _ := p.request("server/discover")
	p.answer(id, `{"supportedVersions":["2026-07-28"]}`)
	id, params := p.request("subscriptions/listen")
	p.acknowledge(id, params)
	return id
}

func TestLiveIsToldWhenEveryListenIsAcknowledged(t *testing.T) {
	withPeer(t, func(p *peer) {
		p.open()
		p.list("a", "b", "c")
		first, firstParams := p.listens("a", "b")
		second, secondParams := p.listens("c")
		p.acknowledge(first, firstParams)
		p.updated(first, "a")
		p.expect()
		p.acknowledge(second, secondParams)
		p.expect("live 3 resources", "updated a")
		p.updated(second, "c")
		p.expect("updated c")
	})
}

func TestEmptyListIsLive(t *testing.T) {
	withPeer(t, func(p *peer) {
		p.open()
		p.list()
		p.expect("live 0 resources")
	})
}

func TestListPlusIsToldWhenItsListenIsAcknowledged(t *testing.T) {
	withPeer(t, func(p *peer) {
		all := p.open()
		p.list("a")
		p.acknowledge(p.listens("a"))
		p.expect("live 1 resource")
		p.changed(all)
		p.list("a", "b")
		id, params := p.listens("b")
		p.expect()
		p.changed(all) // while the listen is being opened: walked again afterwards
		p.acknowledge(id, params)
		p.expect("list + b")
		p.updated(id, "b")
		p.list("b")
		p.expect("updated b", "list - a")
		p.changed(all)
		p.list("a", "b") // a is covered since the start
		p.expect("list + a")
	})
}

func TestManySmallListensAreMerged(t *testing.T) {
	withPeer(t, func(p *peer) {
		all := p.open()
		p.list("a")
		old := make([]int64, 4)
		for i, uri := range []string{"a", "b", "c", "d"} {
			if i > 0 {
				p.changed(all)
				p.list(uri)
			}
			id, params := p.listens(uri)
			p.acknowledge(id, params)
			old[i] = id
		}
		p.expect("live 1 resource", "list - a", "list + b", "list - b", "list + c", "list - c", "list + d")
		id, params := p.listens("d")
		p.acknowledge(id, params)
		p.updated(old[3], "d") // owed before the new listen
		p.expect("updated d")
		cancelled := map[int64]bool{}
		for range old {
			_, params := p.request("notifications/cancelled")
			cancelled[int64(params["requestId"].(float64))] = true
		}
		for _, id := range old {
			if !cancelled[id] {
				t.Errorf("listen %d is still open", id)
			}
		}
		p.updated(old[3], "d")
		p.expect()
		p.updated(id, "d")
		p.expect("updated d")
	})
}

func TestListenerReportsWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*peer)
		want string
	}{
		"no modern revision": {func(p *peer) {
			id, _ := p.request("server/discover")
			p.answer(id, `{"supportedVersions":["2025-11-25"]}`)
		}, "the server speaks [2025-11-25], not 2026-07-28"},
		"discover fails": {func(p *peer) {
			id, _ := p.request("server/discover")
			p.say(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"method not found"}}`, id)
		}, "server/discover: method not found (-32601)"},
		"listen refused": {func(p *peer) {
			p.open()
			p.list("a")
			id, _ := p.listens("a")
			p.say(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"too many"}}`, id)
		}, "the server refused to listen: too many (-32603)"},
		"list not honoured": {func(p *peer) {
			id, _ := p.request("server/discover")
			p.answer(id, `{"supportedVersions":["2026-07-28"]}`)
			id, _ = p.request("subscriptions/listen")
			p.acknowledge(id, map[string]any{"notifications": map[string]any{}})
		}, "the server does not announce changes of its list"},
		"listen ended":                {func(p *peer) { p.answer(p.open(), `{}`) }, errServerEnded.Error()},
		"server gone":                 {func(p *peer) { p.open(); p.out.Close() }, errServerEnded.Error()},
		"server gone before anything": {func(p *peer) { p.request("server/discover"); p.out.Close() }, errServerEnded.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			withPeer(t, func(p *peer) {
				test.play(p)
				synctest.Wait()
				select {
				case err := <-p.result:
					if err == nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("ended with %v, want %s", err, test.want)
					}
				default:
					t.Error("goes on")
				}
			})
		})
	}
}

func TestListenerEndsWithItsContext(t *testing.T) {
	withPeer(t, func(p *peer) {
		p.open()
		p.stop()
		if err := <-p.result; err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsNoMessageEndsTheReading(t *testing.T) {
	c := newClient(io.Discard)
	err := c.read(strings.NewReader("{}\n[1]\n"))
	if err == nil || !strings.Contains(err.Error(), "no message") {
		t.Errorf("read: %v", err)
	}
	const want = `the server sent what is no message: "[1]"`
	if callErr := c.call(t.Context(), "server/discover", nil, nil); callErr == nil || callErr.Error() != want {
		t.Errorf("call: %v", callErr)
	}
	l := newListener(c, newFacts(io.Discard, false), slog.New(slog.DiscardHandler))
	if runErr := l.run(t.Context()); runErr == nil || runErr.Error() != want {
		t.Errorf("run: %v", runErr)
	}
	l.workers.Wait()
}

func TestFactsAsJSON(t *testing.T) {
	var out bytes.Buffer
	f := newFacts(&out, true)
	if err := errors.Join(f.live(0), f.updated("test://a&b"), f.added("x"), f.removed("y")); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"live","resources":0}
{"event":"updated","uri":"test://a&b"}
{"event":"added","uri":"x"}
{"event":"removed","uri":"y"}
`
	if out.String() != want {
		t.Errorf("printed %s, want %s", out.String(), want)
	}
}
