package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// fakeCatalogue serves what its maps hold. URIs below test://top/ resolve, existing or not.
type fakeCatalogue struct {
	contents map[string]mcp.Contents
	failures map[string]error
	pages    map[string]fakePage // by cursor, "first" is the first
	// completions are what a value can become.
	completions map[string]mcp.Completion

	// block delays reads of a URI, and completions of a value, until the channel is closed; deaf reads do not heed their
	// context.
	block map[string]chan struct{}
	deaf  bool
	// linger is how long a blocked read goes on after its context has ended.
	linger time.Duration
	// takes is how long a read takes once it has its memory.
	takes time.Duration

	mu        sync.Mutex
	running   int
	reading   int // those that have their memory
	most      int // of reading at a time
	baselines [][]string
	// slowBaseline delays Baseline until it is closed.
	slowBaseline chan struct{}
}

func newFakeCatalogue() *fakeCatalogue {
	return &fakeCatalogue{
		contents: map[string]mcp.Contents{
			"test://top/a.md":  {MIMEType: "text/markdown", Data: []byte("# A\n\"q\" \\ \x01 ünï <&>\u2028\n"), Text: true},
			"test://top/empty": {MIMEType: "text/plain", Text: true},
			"test://top/b.png": {MIMEType: "image/png", Data: []byte{0x89, 'P', 'N', 'G', 0xff}},
		},
		failures: map[string]error{
			"test://top/big":    &mcp.TooLargeError{URI: "test://top/big", Size: 20 << 20, Limit: 16 << 20},
			"test://top/locked": &mcp.ReadError{URI: "test://top/locked", Reason: "permission denied"},
			"test://top/odd":    errors.New("open /secret/host/path: odd"),
		},
		pages: map[string]fakePage{
			"first": {
				entries: []mcp.Resource{
					{URI: "test://top/a.md", Name: "a.md", MIMEType: "text/markdown", Size: 22,
						Annotations: mcp.Annotations{LastModified: "2025-01-12T15:00:58Z"}},
					{URI: "test://top/empty", Name: "empty", MIMEType: "text/plain"},
				},
				next: "p2",
			},
			"p2": {entries: []mcp.Resource{{URI: "test://top/b.png", Name: "b.png", MIMEType: "image/png", Size: 5}}},
		},
		completions: map[string]mcp.Completion{
			"":   {Values: []string{"a.md", "b.png", "empty"}, Total: 3},
			"a%": {Values: []string{"a%20\"b\"/", "a%C3%A9"}, Total: 200, HasMore: true},
		},
		block: map[string]chan struct{}{},
	}
}

// fakePage is one page of resources/list.
type fakePage struct {
	entries []mcp.Resource
	next    string
}

func (c *fakeCatalogue) List(_ context.Context, cursor *string, entry func(*mcp.Resource)) (next string, err error) {
	name := "first"
	if cursor != nil {
		name = *cursor
	}
	if page, ok := c.pages[name]; ok && (cursor == nil || name != "first") {
		for i := range page.entries {
			entry(&page.entries[i])
		}
		return page.next, nil
	}
	return "", fmt.Errorf("list: %w", mcp.ErrBadCursor)
}

func (c *fakeCatalogue) Read(ctx context.Context, uri string, opts *mcp.ReadOptions) (mcp.Contents, error) {
	c.mu.Lock()
	c.running++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
	}()
	if gate, ok := c.block[uri]; ok {
		done := ctx.Done()
		if c.deaf {
			done = nil
		}
		select {
		case <-gate:
		case <-done:
			<-time.After(c.linger)
			return mcp.Contents{}, ctx.Err()
		}
	}
	if err, ok := c.failures[uri]; ok {
		return mcp.Contents{}, err
	}
	found, ok := c.contents[uri]
	if !ok {
		return mcp.Contents{}, &mcp.NotFoundError{URI: uri}
	}
	if opts.Reserve != nil {
		if err := opts.Reserve(ctx, int64(len(found.Data))); err != nil {
			return mcp.Contents{}, err
		}
	}
	c.mu.Lock()
	c.reading++
	c.most = max(c.most, c.reading)
	c.mu.Unlock()
	found.Data = bytes.Clone(found.Data)
	if c.takes > 0 {
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	c.reading--
	c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return mcp.Contents{}, err
	}
	found.URI = uri
	return found, nil
}

func (c *fakeCatalogue) busy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// atOnce is how many reads have had their memory at a time.
func (c *fakeCatalogue) atOnce() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

func (c *fakeCatalogue) Templates() []mcp.ResourceTemplate {
	return []mcp.ResourceTemplate{{URITemplate: "test://top/{+path}", Name: "root", Title: "Root", Description: "any file"}}
}

func (c *fakeCatalogue) Complete(ctx context.Context, template, value string) (mcp.Completion, error) {
	if template != c.Templates()[0].URITemplate {
		return mcp.Completion{}, fmt.Errorf("complete: %w", mcp.ErrUnknownTemplate)
	}
	if gate, ok := c.block[value]; ok {
		select {
		case <-gate:
		case <-ctx.Done():
			return mcp.Completion{}, ctx.Err()
		}
	}
	return c.completions[value], nil
}

func (c *fakeCatalogue) Resolve(uri string) ([]string, error) {
	if !strings.HasPrefix(uri, "test://top") {
		return nil, &mcp.NotFoundError{URI: uri}
	}
	return []string{strings.TrimSuffix(uri, "/")}, nil
}

func (c *fakeCatalogue) Baseline(ctx context.Context, keys []string) {
	if c.slowBaseline != nil {
		select {
		case <-c.slowBaseline:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.baselines = append(c.baselines, slices.Clone(keys))
}

// sink is an output that keeps what is written. It never blocks unless it is stalled.
type sink struct {
	mu     sync.Mutex
	data   []byte
	writes int
	// largest is the longest write in bytes.
	largest int
	last    time.Time     // when something was written
	err     error         // returned by every write
	stall   chan struct{} // writes wait until it is closed; nil: they do not
	pause   time.Duration // how long each write takes
	perKiB  time.Duration // how long it takes besides for 1024 bytes
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	stall, pause, err := s.stall, s.pause+s.perKiB*time.Duration(len(p))>>10, s.err
	s.mu.Unlock()
	if pause > 0 {
		<-time.After(pause)
	}
	if stall != nil {
		<-stall
	}
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, p...)
	s.writes++
	s.last = time.Now()
	s.largest = max(s.largest, len(p))
	return len(p), nil
}

// written is what was written so far.
func (s *sink) written() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data
}

func (s *sink) lastWrite() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *sink) setStall(c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stall = c
}

// client is one client of a server, inside a synctest bubble.
type client struct {
	t    *testing.T
	cat  *fakeCatalogue
	hub  *listen.Hub
	mem  *memory
	in   *io.PipeWriter
	out  *sink
	stop context.CancelFunc
	done chan error // what ServeStdio returned
	over bool
	read int // bytes of out.data already returned
}

// serve runs f as a client of a fresh server, in a bubble, and checks that everything ends afterwards.
func serve(t *testing.T, f func(t *testing.T, c *client)) {
	serveWith(t, nil, newFakeCatalogue, f)
}

func serveWith(t *testing.T, opts *Options, cat func() *fakeCatalogue, f func(t *testing.T, c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, opts, cat())
		f(t, c)
		c.close()
		if n := c.hub.Len(); n != 0 {
			t.Errorf("%d streams are left in the hub", n)
		}
	})
}

func connect(t *testing.T, opts *Options, cat *fakeCatalogue) *client {
	return connectTo(t, opts, cat, listen.NewHub(nil))
}

func connectTo(t *testing.T, opts *Options, cat *fakeCatalogue, hub *listen.Hub) *client {
	in, w := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	c := &client{
		t: t, cat: cat, in: w, out: &sink{}, stop: stop, done: make(chan error, 1),
		hub: hub,
	}
	s := NewServer(cat, c.hub, opts)
	c.mem = s.mem
	go func() { c.done <- s.ServeStdio(ctx, in, c.out) }()
	t.Cleanup(func() { w.Close(); in.Close() })
	return c
}

// close ends the input and waits for the server.
func (c *client) close() {
	c.t.Helper()
	c.in.Close()
	c.wait()
}

// wait returns when ServeStdio has returned, and fails if that was with an error.
func (c *client) wait() {
	c.t.Helper()
	if c.over {
		return
	}
	c.over = true
	if err := <-c.done; err != nil {
		c.t.Errorf("ServeStdio: %v", err)
	}
	c.stop()
}

// send writes lines and waits until the server has done all it can without time passing.
func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Errorf("send: %v", err)
	}
	synctest.Wait()
}

// frame is any message a server may write.
type frame struct {
	raw     string
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// frames returns what the server has written since the last call.
func (c *client) frames() []frame {
	c.t.Helper()
	synctest.Wait()
	c.out.mu.Lock()
	data := c.out.data[c.read:]
	c.read = len(c.out.data)
	c.out.mu.Unlock()
	return parseFrames(c.t, data)
}

func parseFrames(t testing.TB, data []byte) (all []frame) {
	t.Helper()
	if len(data) > 0 && data[len(data)-1] != '\n' {
		t.Errorf("output ends without a newline: %q", data)
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var f frame
		if err := json.Unmarshal(line, &f); line[0] != '[' && (err != nil || f.JSONRPC != "2.0") {
			t.Errorf("not a frame: %q (%v)", line, err)
		}
		f.raw = string(line)
		all = append(all, f)
	}
	return all
}

// ask sends one request and returns the one frame it causes.
func (c *client) ask(line string) frame {
	c.t.Helper()
	c.send(line)
	return c.only()
}

// only returns the one frame written since the last call.
func (c *client) only() frame {
	c.t.Helper()
	got := c.frames()
	if len(got) != 1 {
		c.t.Fatalf("%d frames instead of one: %s", len(got), raws(got))
	}
	return got[0]
}

// nothing fails if something was written since the last call.
func (c *client) nothing() {
	c.t.Helper()
	if got := c.frames(); len(got) != 0 {
		c.t.Errorf("unexpected frames: %s", raws(got))
	}
}

// raw checks the frames written since the last call, in order.
func (c *client) raw(want ...string) {
	c.t.Helper()
	if got := raws(c.frames()); !slices.Equal(got, want) {
		c.t.Errorf("frames:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func raws(frames []frame) (all []string) {
	for _, f := range frames {
		all = append(all, f.raw)
	}
	return all
}

// wantError checks the code of an answer, the id as spelled ("" for none) and words of its message.
func (f frame) wantError(t *testing.T, id string, code int, words ...string) {
	t.Helper()
	if f.Error == nil || f.Error.Code != code || string(f.ID) != id {
		t.Errorf("got %s, want error %d for id %q", f.raw, code, id)
		return
	}
	for _, word := range words {
		if !strings.Contains(f.Error.Message, word) {
			t.Errorf("message %q does not contain %q", f.Error.Message, word)
		}
	}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// modern makes a request line. more is what follows in params, with a leading comma.
func modern(id, method, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + meta + more + `}}`
}

func legacy(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
}

func initialize(id, version string) string {
	return legacy(id, "initialize", `"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}`)
}

func listenTo(id, filter string) string {
	return modern(id, "subscriptions/listen", `,"notifications":{`+filter+`}`)
}

func cancel(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

func read(id, uri string) string { return modern(id, "resources/read", `,"uri":"`+uri+`"`) }

// Frames of a subscription.
func acknowledged(id, filter string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"notifications":{` + filter + `}}}`
}

func updated(id, uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"uri":"` + uri + `"}}`
}

func listChanged(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
}

func completed(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `,"io.modelcontextprotocol/serverInfo":{"name":"mcp-fsserve","version":"devel"}}}}`
}

// after lets the bubble's clock advance.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// liveBytes is how many bytes live.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func canceled() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}
