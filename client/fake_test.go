package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// fake is a server under the control of a test, on the seam of wire.Conn. It does as the specification says with what is
// in files, unless the test says otherwise. All of it lives inside a synctest bubble, where Wait means that the client has
// taken in everything.
type fake struct {
	t         *testing.T
	overHTTP  bool
	unordered bool // over HTTP with a lag: a later request may be taken first

	mu        sync.Mutex // guards what follows
	files     map[string]string
	folders   map[string]bool // URIs that are not listed and can be followed
	page      int             // entries in one page
	legacy    string          // the revision, if it is one of before 2026-07-28
	ttl       int             // ms
	honour    func(filter) filter
	refuse    func(c *fakeConn, r request) *jsonrpc.Error // in place of an answer
	mute      func(c *fakeConn, r request) bool           // no answer
	dialErr   func(n int) error                           // of the nth attempt, from 1
	dials     []time.Time
	followErr error                        // set before the first connection
	cancelled func(c *fakeConn, id string) // what else a cancel does
	conns     []*fakeConn
	log       []string             // of requests: method, or method and URI
	lag       func() time.Duration // how long a message is under way, and an announcement is owed; nil: no time
}

// fakeConn is one connection to a fake.
type fakeConn struct {
	f       *fake
	receive func(wire.Event)
	in      chan []byte                // requests under way, if there is a lag; closed by nobody
	out     chan wire.Event            // closed by nobody
	streams map[string]chan wire.Event // over HTTP, if there is a lag, each with a pace of its own; guarded by fake.mu
	one     sync.Mutex                 // held while the receiver is called
	done    chan struct{}              // closed by Close
	workers sync.WaitGroup
	once    sync.Once

	listens map[string]*filter // open, by id; guarded by fake.mu, as all below
	subs    map[string]bool    // of a legacy server
	stalled bool               // says nothing and answers nothing
	held    []wire.Event       // what it would have said
	ended   bool
	deaf    bool // takes nothing any more
}

type filter struct {
	Resources  bool     `json:"resourcesListChanged,omitempty"`
	Tools      bool     `json:"toolsListChanged,omitempty"`
	Prompts    bool     `json:"promptsListChanged,omitempty"`
	URIs       []string `json:"resourceSubscriptions,omitempty"`
	Extension  any      `json:"com.example/ticks,omitempty"`
	Extension2 any      `json:"com.example/tocks,omitempty"`
}

type jsonRaw = json.RawMessage

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		URI           string
		Cursor        string
		Notifications filter
		RequestID     json.RawMessage
		Meta          map[string]any `json:"_meta"`
	}
	Result json.RawMessage
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, files: map[string]string{}, folders: map[string]bool{}, page: 3}
}

func (f *fake) dial(_ context.Context, _ wire.Target, receive func(wire.Event)) (wire.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials = append(f.dials, time.Now())
	if f.dialErr != nil {
		if err := f.dialErr(len(f.dials)); err != nil {
			return nil, err
		}
	}
	c := &fakeConn{f: f, receive: receive, in: make(chan []byte, 100_000), out: make(chan wire.Event, 100_000), streams: map[string]chan wire.Event{}, done: make(chan struct{}), listens: map[string]*filter{}, subs: map[string]bool{}}
	f.conns = append(f.conns, c)
	c.workers.Go(func() { c.deliver(c.out) })
	c.workers.Go(c.listen)
	return c, nil
}

func (c *fakeConn) deliver(out <-chan wire.Event) {
	for {
		select {
		case e := <-out:
			c.wait()
			c.one.Lock()
			c.receive(e)
			c.one.Unlock()
		case <-c.done:
			return
		}
	}
}

func (c *fakeConn) wait() {
	if c.f.lag != nil {
		select {
		case <-time.After(c.f.lag()):
		case <-c.done:
		}
	}
}

// listen takes requests that were under way.
func (c *fakeConn) listen() {
	for {
		select {
		case message := <-c.in:
			if c.f.overHTTP && c.f.unordered {
				c.f.mu.Lock()
				if !c.ended {
					c.workers.Go(func() { c.takeLate(message) })
				}
				c.f.mu.Unlock()
			} else {
				c.takeLate(message)
			}
		case <-c.done:
			return
		}
	}
}

func (c *fakeConn) takeLate(message []byte) {
	c.wait()
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if !c.ended {
		c.takeLocked(message)
	}
}

// say sends a message; about is the id of the request that it belongs to.
func (c *fakeConn) sayLocked(about string, message any) {
	raw := encode(message)
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  *jsonrpc.Error
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		panic(err)
	}
	e := wire.Event{Message: &wire.Message{Raw: raw, ID: m.ID, Method: m.Method, Params: m.Params, Result: m.Result, Error: m.Error}}
	if c.f.overHTTP && about != "" {
		e.Request, e.Status = json.RawMessage(about), 200
	}
	c.emitLocked(e)
}

func (c *fakeConn) emitLocked(e wire.Event) {
	switch {
	case c.ended:
	case c.stalled:
		c.held = append(c.held, e)
	case c.f.lag != nil && c.f.overHTTP:
		key := string(e.Request)
		if c.streams[key] == nil {
			out := make(chan wire.Event, 100_000)
			c.streams[key] = out
			c.workers.Go(func() { c.deliver(out) })
		}
		c.streams[key] <- e
	default:
		c.out <- e
	}
}

func (c *fakeConn) answerLocked(id json.RawMessage, result any) {
	c.sayLocked(string(id), map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (c *fakeConn) failLocked(id json.RawMessage, fault *jsonrpc.Error) {
	c.sayLocked(string(id), map[string]any{"jsonrpc": "2.0", "id": id, "error": fault})
}

func (c *fakeConn) notifyLocked(listen, method string, params map[string]any) {
	if params == nil {
		params = map[string]any{}
	}
	if listen != "" {
		params["_meta"] = map[string]any{"io.modelcontextprotocol/subscriptionId": json.RawMessage(listen)}
	}
	c.sayLocked(listen, map[string]any{"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})
}

func (c *fakeConn) Send(ctx context.Context, message []byte) error {
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.ended || c.deaf {
		return wire.ErrClosed
	}
	if f.lag != nil {
		c.in <- message
		return nil
	}
	c.takeLocked(message)
	return nil
}

func (c *fakeConn) takeLocked(message []byte) {
	f := c.f
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		f.t.Errorf("the client sent %s", message)
	}
	if r.Method == "notifications/cancelled" {
		c.cancelLocked(string(r.Params.RequestID))
		return
	}
	if r.Method == "" || r.ID == nil {
		f.log = append(f.log, strings.TrimSpace(r.Method+" "+string(r.Result)))
		return
	}
	f.log = append(f.log, strings.TrimSpace(r.Method+" "+r.Params.URI+r.Params.Cursor))
	if f.mute != nil && f.mute(c, r) {
		return
	}
	if f.refuse != nil {
		if fault := f.refuse(c, r); fault != nil {
			c.failLocked(r.ID, fault)
			return
		}
	}
	c.serveLocked(r)
}

func (c *fakeConn) serveLocked(r request) {
	f := c.f
	modern := r.Params.Meta != nil
	switch {
	case f.legacy != "" && modern:
		c.failLocked(r.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize first"))
		return
	case f.legacy == "" && !modern:
		c.failLocked(r.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta is missing"))
		return
	}
	switch r.Method {
	case "server/discover":
		c.answerLocked(r.ID, map[string]any{"supportedVersions": []string{"2026-07-28"}, "_meta": map[string]any{"io.modelcontextprotocol/serverInfo": map[string]string{"name": "fake", "version": "7"}}})
	case "initialize":
		c.answerLocked(r.ID, map[string]any{"protocolVersion": f.legacy, "serverInfo": map[string]string{"name": "old", "version": "1"},
			"capabilities": map[string]any{"resources": map[string]bool{"subscribe": true, "listChanged": true}}})
	case "ping", "resources/unsubscribe":
		delete(c.subs, r.Params.URI)
		c.answerLocked(r.ID, struct{}{})
	case "resources/subscribe":
		c.subs[r.Params.URI] = true
		c.answerLocked(r.ID, struct{}{})
	case "subscriptions/listen":
		c.listenLocked(r)
	case "resources/list":
		c.listLocked(r)
	case "resources/read":
		text, ok := f.files[r.Params.URI]
		if !ok {
			c.failLocked(r.ID, jsonrpc.Errorf(jsonrpc.InvalidParams, "resource not found"))
			return
		}
		c.answerLocked(r.ID, map[string]any{"resultType": "complete", "ttlMs": f.ttl,
			"contents": []any{map[string]string{"uri": r.Params.URI, "mimeType": "text/plain", "text": text}}})
	case "tools/list":
		c.answerLocked(r.ID, map[string]any{"tools": []string{f.files["tools"]}, "ttlMs": f.ttl})
	default:
		c.failLocked(r.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found"))
	}
}

func (c *fakeConn) listenLocked(r request) {
	honoured := r.Params.Notifications
	if c.f.honour != nil {
		honoured = c.f.honour(honoured)
	}
	id := string(r.ID)
	c.listens[id] = &honoured
	c.notifyLocked(id, "subscriptions/acknowledged", map[string]any{"notifications": honoured})
}

// listLocked serves pages whose cursor names the URI before the first of them.
func (c *fakeConn) listLocked(r request) {
	var uris []string
	for uri := range c.f.files {
		if uri != "tools" && uri > r.Params.Cursor {
			uris = append(uris, uri)
		}
	}
	slices.Sort(uris)
	result := map[string]any{"ttlMs": c.f.ttl}
	if len(uris) > c.f.page {
		uris = uris[:c.f.page]
		result["nextCursor"] = uris[len(uris)-1]
	}
	entries := []any{}
	for _, uri := range uris {
		entries = append(entries, map[string]any{"uri": uri, "name": uri, "size": len(c.f.files[uri])})
	}
	result["resources"] = entries
	c.answerLocked(r.ID, result)
}

func (c *fakeConn) Cancel(ctx context.Context, id json.RawMessage) error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.log = append(c.f.log, "cancel "+string(id))
	if c.f.lag != nil && !c.f.overHTTP {
		c.in <- encode(map[string]any{"method": "notifications/cancelled", "params": map[string]any{"requestId": id}})
		return nil
	}
	c.cancelLocked(string(id))
	return nil
}

func (c *fakeConn) cancelLocked(id string) {
	delete(c.listens, id)
	if c.f.cancelled != nil {
		c.f.cancelled(c, id)
	}
}

func (c *fakeConn) Follow(ctx context.Context) error {
	if errors.Is(c.f.followErr, context.DeadlineExceeded) { // it never answers
		<-ctx.Done()
		return ctx.Err()
	}
	return c.f.followErr
}

func (c *fakeConn) Close(ctx context.Context) error {
	c.once.Do(func() { close(c.done) })
	c.f.mu.Lock()
	c.endLocked() // first: nothing starts a worker from here on
	c.f.mu.Unlock()
	c.workers.Wait()
	return nil
}

// do runs a change of the fake, and waits until the client has taken it in.
func (f *fake) do(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	synctest.Wait()
}

// writeLocked changes, makes or, if text is empty, removes a file, and announces that.
func (f *fake) writeLocked(uri, text string) {
	_, was := f.files[uri]
	if text == "" {
		delete(f.files, uri)
	} else {
		f.files[uri] = text
	}
	if text == "" && !was {
		return
	}
	for _, c := range f.conns {
		for id, l := range c.listens {
			if slices.Contains(l.URIs, uri) {
				c.oweLocked(id, "resources/updated", map[string]any{"uri": uri})
			}
			if l.Resources && was != (text != "") {
				c.oweLocked(id, "resources/list_changed", nil)
			}
		}
		if c.subs[uri] {
			c.notifyLocked("", "resources/updated", map[string]any{"uri": uri})
		}
		if f.legacy != "" && was != (text != "") {
			c.notifyLocked("", "resources/list_changed", nil)
		}
	}
}

// oweLocked announces, after the lag if there is one, and never if the listen is cancelled before that.
func (c *fakeConn) oweLocked(listen, method string, params map[string]any) {
	if c.f.lag == nil {
		c.notifyLocked(listen, method, params)
		return
	}
	l := c.listens[listen]
	c.workers.Go(func() {
		c.wait()
		c.f.mu.Lock()
		defer c.f.mu.Unlock()
		if c.listens[listen] == l {
			c.notifyLocked(listen, method, params)
		}
	})
}

func (f *fake) write(uri, text string) { f.do(func() { f.writeLocked(uri, text) }) }

// last is the newest connection.
func (f *fake) last() *fakeConn { return f.conns[len(f.conns)-1] }

// cutLocked ends a connection as the server or a proxy does.
func (c *fakeConn) cutLocked(err error) {
	if !c.ended {
		c.stalled = false
		c.emitLocked(wire.Event{End: true, Err: err})
		c.endLocked()
	}
}

func (c *fakeConn) endLocked() {
	c.ended = true
	clear(c.listens)
	clear(c.subs)
}

func (f *fake) cut(err error) { f.do(func() { f.last().cutLocked(err) }) }

func (c *fakeConn) stallLocked(on bool) {
	if c.stalled = on; !on {
		held := c.held
		c.held = nil
		for _, e := range held {
			c.emitLocked(e)
		}
	}
}

// requests returns what was asked since the last call.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.log
	f.log = nil
	return log
}

func (f *fake) listens() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids = slices.Collect(maps.Keys(f.last().listens))
	slices.SortFunc(ids, func(a, b string) int { return atoi(a) - atoi(b) })
	return ids
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// lab is a client of a fake.
type lab struct {
	*fake
	c      *Client
	said   *bytes.Buffer
	result chan error
	stop   context.CancelFunc
}

// withLab runs a test in a bubble: set prepares the server, test drives it.
func withLab(t *testing.T, want Want, opts Options, prepare func(*fake), test func(*lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		if prepare != nil {
			prepare(f)
		}
		target := Command("fake")
		if f.overHTTP {
			target = URL("http://fake.example/mcp")
		}
		if opts.Grace == 0 {
			opts.Grace = time.Second
		}
		said := &bytes.Buffer{}
		opts.Log = slog.New(slog.NewTextHandler(said, nil))
		l := &lab{fake: f, c: New(target, want, &opts), said: said, result: make(chan error, 1)}
		l.c.dial = f.dial
		l.c.random = func(n int64) int64 { return n - 1 } // no jitter: the longest
		ctx, stop := context.WithCancel(t.Context())
		l.stop = stop
		go func() { l.result <- l.c.Run(ctx) }()
		synctest.Wait()
		test(l)
		stop()
		if err := <-l.result; err != nil && !errors.Is(err, errGaveUp) {
			t.Errorf("Run: %v", err)
		}
	})
}

var errGaveUp = errors.New("gave up")

// told returns what is owed now, in words.
func (l *lab) told() (events []string) {
	synctest.Wait()
	for {
		e, ok := l.c.queue.pull()
		if !ok {
			return events
		}
		l.c.view.fill(&e)
		events = append(events, inWords(e))
	}
}

func inWords(e Event) string {
	words := []string{e.Kind.String()}
	switch e.Kind {
	case Live:
		words = append(words, fmt.Sprint(e.Listed, e.Followed, e.Polled))
	case Lost:
		if e.Graceful {
			words = append(words, "gracefully")
		}
		words = append(words, fmt.Sprint(e.Attempts, " ", e.Retry))
	case Notification:
		words = append(words, e.Method, fmt.Sprint(e.Missed))
	default:
		words = append(words, e.URI)
		if len(e.Contents) > 0 {
			words = append(words, string(e.Contents[0].Data))
		}
		if e.Err != nil {
			words = append(words, "err")
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// expect compares what is owed now.
func (l *lab) expect(want ...string) {
	l.t.Helper()
	if got := l.told(); !slices.Equal(got, want) {
		l.t.Errorf("told %q\nwant %q\nsaid %s", got, want, l.said)
	}
}

// onlyLocked is the id of the one listen that is open.
func (f *fake) onlyLocked() string {
	for id := range f.last().listens {
		return id
	}
	f.t.Fatal("no listen is open")
	return ""
}
