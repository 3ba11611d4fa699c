package transport

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Each limit is tested at the limit and one beyond. Those of a batch's members are with the batches, that of what one
// message names is in listen.

// subscribed is the filter of a listen to n URIs.
func subscribed(n int) string {
	uris := make([]string, n)
	for i := range uris {
		uris[i] = fmt.Sprintf(`"test://top/%d"`, i)
	}
	return `"resourceSubscriptions":[` + strings.Join(uris, ",") + `]`
}

func TestLimitOfListens(t *testing.T) {
	const limit = 3
	synctest.Test(t, func(t *testing.T) {
		c := connectTo(t, nil, newFakeCatalogue(), listen.NewHub(&listen.Options{MaxStreams: limit}))
		for i := range limit {
			id := fmt.Sprint(i)
			c.send(listenTo(id, onlyA))
			c.raw(acknowledged(id, onlyA))
		}
		c.ask(listenTo("3", onlyA)).wantError(t, "3", -32603, "too many listens and sessions", "cancel one")
		c.ask(initialize("3", "2025-11-25")).wantError(t, "3", -32603, "too many listens and sessions")
		// Those that are open live on, everything else is served, and one that is cancelled makes room.
		c.hub.Publish(listen.Change{Keys: []string{a}})
		if got := c.frames(); len(got) != limit {
			t.Errorf("got %q", raws(got))
		}
		if f := c.ask(read("3", a)); f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
		c.send(cancel("1"), listenTo("3", onlyA))
		c.raw(acknowledged("3", onlyA))
		c.close()
	})
}

// TestSecondSessionAtTheLimit: it takes the place of the first.
func TestSecondSessionAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connectTo(t, nil, newFakeCatalogue(), listen.NewHub(&listen.Options{MaxStreams: 1}))
		for _, id := range []string{"1", "2"} {
			if f := c.ask(initialize(id, "2025-11-25")); f.Result == nil {
				t.Errorf("got %s", f.raw)
			}
		}
		c.hub.Publish(listen.Change{List: true})
		if got := c.frames(); len(got) != 1 {
			t.Errorf("got %q", raws(got))
		}
		c.close()
	})
}

func TestLimitOfURIs(t *testing.T) {
	for name, test := range map[string]struct {
		opts  *Options
		limit int
	}{"default": {nil, 10_000}, "set": {&Options{MaxURIs: 2}, 2}} {
		t.Run(name, func(t *testing.T) {
			serveWith(t, test.opts, newFakeCatalogue, func(t *testing.T, c *client) {
				// An identical URI counts once.
				c.send(listenTo("1", strings.Replace(subscribed(test.limit), "[", `["test://top/0",`, 1)))
				c.raw(acknowledged("1", subscribed(test.limit)))
				c.ask(listenTo("2", subscribed(test.limit+1))).wantError(t, "2", -32602,
					fmt.Sprint("has ", test.limit+1, " URIs"), fmt.Sprint("the limit is ", test.limit), "subscribe to a directory")
				c.hub.Publish(listen.Change{Keys: []string{fmt.Sprint("test://top/", test.limit-1)}})
				c.raw(updated("1", fmt.Sprint("test://top/", test.limit-1)))
			})
		})
	}
}

func TestLimitOfURIsOfASession(t *testing.T) {
	const limit = 3
	subscribe := func(id string, n int) string {
		return legacy(id, "resources/subscribe", fmt.Sprintf(`"uri":"test://top/%d"`, n))
	}
	serveWith(t, &Options{MaxURIs: limit}, newFakeCatalogue, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-11-25"))
		for i := range limit {
			c.send(subscribe("1", i), subscribe("2", i))
			c.raw(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		}
		c.ask(subscribe("1", limit)).wantError(t, "1", -32602, "subscribed to 3 URIs, the limit", "unsubscribe")
		c.send(legacy("1", "resources/unsubscribe", `"uri":"test://top/0"`), subscribe("2", limit))
		c.raw(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		c.ask(subscribe("1", 0)).wantError(t, "1", -32602, "the limit")
	})
}

func TestLimitOfALine(t *testing.T) {
	for name, test := range map[string]struct {
		opts  *Options
		limit int
	}{"default": {nil, 4 << 20}, "set": {&Options{MaxLine: 1000}, 1000}} {
		t.Run(name, func(t *testing.T) {
			serveWith(t, test.opts, newFakeCatalogue, func(t *testing.T, c *client) {
				line := modern("1", "server/discover", "")
				line += strings.Repeat(" ", test.limit-len(line))
				for _, end := range []string{"", "\r"} { // the end is not part of the line
					if f := c.ask(line + end); f.Result == nil {
						t.Errorf("got %s", f.raw)
					}
				}
				c.ask(line+" ").wantError(t, "1", -32600, fmt.Sprint("longer than ", test.limit, " bytes"))
				if f := c.ask(line); f.Result == nil {
					t.Errorf("after a long line: %s", f.raw)
				}
			})
		})
	}
}

func TestLimitOfAnID(t *testing.T) {
	longest := `"` + strings.Repeat("x", jsonrpc.MaxIDBytes-2) + `"`
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo(longest, onlyA))
		c.raw(acknowledged(longest, onlyA))
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated(longest, a))
		for _, method := range []string{"subscriptions/listen", "server/discover", "completion/complete"} {
			f := c.ask(modern(longest[:1]+"x"+longest[1:], method, ""))
			if f.wantError(t, "", -32600, "256 bytes"); len(f.raw) > 300 {
				t.Errorf("the answer repeats it: %s", f.raw)
			}
		}
		c.send(cancel(longest))
		c.hub.Publish(listen.Change{Keys: []string{a}})
		after(time.Second)
		c.nothing()
	})
}

func TestLimitOfWorkAtATime(t *testing.T) {
	const limit = 3
	serveWith(t, &Options{MaxInFlight: limit}, newFakeCatalogue, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a] = gate
		for i := range limit - 1 {
			c.send(read(fmt.Sprint(i), a))
		}
		if f := c.ask(read("9", b)); f.Result == nil { // there is a place left
			t.Errorf("got %s", f.raw)
		}
		c.send(read("8", a), read("9", b), modern("7", "completion/complete", ","+completing("")))
		if c.cat.busy() != limit {
			t.Errorf("%d reads are running", c.cat.busy())
		}
		c.nothing()
		c.ask(modern("6", "server/discover", "")) // does not block, so it needs no place
		close(gate)
		if got := c.frames(); len(got) != limit+2 {
			t.Errorf("got %q", raws(got))
		}
	})
}

func TestLimitOfWhatIsInFlight(t *testing.T) {
	f := newInflight(1, nil)
	first, second := &call{refusal: errDuplicateID, weight: f.maxWeight - 1}, &call{refusal: errDuplicateID, weight: 1}
	f.admit(first)
	if f.full() {
		t.Error("full below the limit")
	}
	f.admit(second)
	if !f.full() {
		t.Error("not full at the limit")
	}
}

// Beyond what may be in flight nothing more is read, but for what is read ahead; nothing is lost.
func TestRequestsBeyondTheLimitWaitAndNoneIsLost(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		const size, n = 1 << 20, 40
		gate := make(chan struct{})
		c.cat.block["a%"] = gate
		sent := make(chan int, n)
		go func() {
			defer close(sent)
			for i := range n {
				line := modern(fmt.Sprint(i), "completion/complete", ","+completing("a%"))
				if _, err := io.WriteString(c.in, line+strings.Repeat(" ", size-len(line)-1)+"\n"); err != nil {
					t.Error(err)
				}
				sent <- i
			}
		}()
		after(2 * reliefTick) // who reads serves the first
		// 16 MiB in flight, a line in the reader's hand, 8 MiB ahead.
		if got := len(sent); got < 16 || got > 26 {
			t.Errorf("%d requests of a MiB were read", got)
		}
		c.nothing()
		close(gate)
		answered := map[string]bool{}
		for _, f := range c.frames() {
			if f.Result == nil || answered[string(f.ID)] {
				t.Errorf("got %s", f.raw)
			}
			answered[string(f.ID)] = true
		}
		if len(answered) != n || len(sent) != n {
			t.Errorf("%d of %d are answered", len(answered), len(sent))
		}
	})
}

func TestLimitOfMemoryOfReads(t *testing.T) {
	const size, reads = mcp.SmallRead + 1, 3
	limit := int64(reads * (size*usual/3 + perRead))
	for beyond, want := range map[int64]int{0: reads, -1: reads - 1} {
		serveWith(t, &Options{MaxReadMemory: limit + beyond}, withControl(size), func(t *testing.T, c *client) {
			c.cat.contents[control] = mcp.Contents{Data: bytes.Repeat([]byte("a"), size), Text: true}
			c.cat.contents["test://top/small"] = mcp.Contents{Data: make([]byte, mcp.SmallRead), Text: true}
			c.cat.takes = time.Hour
			for i := range reads {
				c.send(read(fmt.Sprint(i), control))
			}
			if got := c.cat.atOnce(); got != want {
				t.Errorf("with %d bytes %d reads run at a time, want %d", limit+beyond, got, want)
			}
			c.send(read("9", "test://top/small")) // needs none of it
			if c.cat.atOnce() != want+1 {
				t.Errorf("a small read waits for memory")
			}
			after(2 * time.Hour)
			if got := c.frames(); len(got) != reads+1 {
				t.Errorf("got %d answers", len(got))
			}
		})
	}
}
