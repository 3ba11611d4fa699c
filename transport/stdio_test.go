package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBlockedRequestDelaysNoOther(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a] = gate
		for i := range 63 {
			c.send(read(fmt.Sprint(100+i), a))
		}
		c.send(read("1", b), modern("2", "resources/list", ""), listenTo("3", onlyA), modern("4", "server/discover", ""))
		if got := c.frames(); len(got) != 4 {
			t.Errorf("got %q", raws(got))
		}
		close(gate)
		if got := c.frames(); len(got) != 63 {
			t.Errorf("%d answers", len(got))
		}
	})
}

func TestWorkInFlightIsBounded(t *testing.T) {
	serveWith(t, &Options{MaxInFlight: 2}, newFakeCatalogue, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a], c.cat.deaf = gate, true
		for i := range 5 {
			c.send(read(fmt.Sprint(i), a))
		}
		if c.cat.busy() != 2 {
			t.Errorf("%d reads are running", c.cat.busy())
		}
		// One running, one waiting: both are cancelled at once, the ids are free, but a deaf read keeps its place.
		c.send(cancel("0"), cancel("2"), modern("0", "server/discover", ""), modern("2", "server/discover", ""))
		if got := c.frames(); len(got) != 2 || c.cat.busy() != 2 {
			t.Errorf("got %q, %d running", raws(got), c.cat.busy())
		}
		close(gate)
		if got := c.frames(); len(got) != 3 {
			t.Errorf("got %q", raws(got))
		}
	})
}

// An output that takes nothing: reading pauses at last, and the end of input is seen all the same.
func TestStalledOutputBoundsWhatIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, newFakeCatalogue())
		stall := make(chan struct{})
		c.out.setStall(stall)
		line := strings.Repeat("x", 1<<20) + "\n"
		sent := make(chan int, 1)
		go func() {
			n := 0
			for ; n < 48; n++ {
				if _, err := io.WriteString(c.in, line); err != nil {
					break
				}
			}
			sent <- n
		}()
		synctest.Wait()
		select {
		case n := <-sent:
			t.Errorf("accepted all %d", n)
			sent <- n
		default:
		}
		close(stall)
		if n := <-sent; n != 48 {
			t.Errorf("accepted %d", n)
		}
		if got := c.frames(); len(got) != 48 {
			t.Errorf("%d answers", len(got))
		}
		c.close()
	})
}

// The end of input is seen although nothing more is accepted, with 24 MiB of requests unanswered.
func TestEndOfInputIsSeenWhileReadingPauses(t *testing.T) {
	for name, line := range map[string]string{"few long lines": strings.Repeat("x", 1<<20), "many short lines": strings.Repeat("x\n", 1<<19)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, nil, newFakeCatalogue())
				c.send(listenTo(`"l"`, onlyA))
				c.frames()
				stall := make(chan struct{})
				c.out.setStall(stall)
				before := liveBytes()
				n := 23
				if strings.Contains(line, "\n") {
					n = 6
				}
				for range n {
					if _, err := io.WriteString(c.in, line+"\n"); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if grown := liveBytes() - before; grown > 64<<20 {
					t.Errorf("%d bytes are kept", grown)
				}
				start := time.Now()
				c.close()
				if d := time.Since(start); d >= 2*time.Second {
					t.Errorf("took %v", d)
				}
				close(stall)
				synctest.Wait()
			})
		})
	}
}

func TestUnknownFirstMessageNeverEndsTheSession(t *testing.T) {
	for _, first := range []string{"nonsense", "{}", "[]", modern("1", "nonsense", ""), legacy("1", "nonsense", ""), legacy("1", "ping", ""),
		`{"jsonrpc":"2.0","method":"nonsense"}`, strings.Repeat("[", 100000), "GET / HTTP/1.1\r", `{"jsonrpc":"2.0","id":1,"result":1}`} {
		serve(t, func(t *testing.T, c *client) {
			c.send(first)
			c.frames()
			if f := c.ask(modern("1", "server/discover", "")); f.Result == nil {
				t.Errorf("after %.40q: %s", first, f.raw)
			}
		})
	}
}

func TestBothErasOnOnePipe(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.ask(modern("1", "server/discover", ""))
		c.ask(initialize("2", "2025-06-18"))
		c.send(listenTo("3", `"resourcesListChanged":true`))
		c.frames()
		c.hub.Publish(listen.Change{List: true})
		if got := c.frames(); len(got) != 2 {
			t.Errorf("got %q", raws(got))
		}
		c.ask(read("4", "test://top/none")).wantError(t, "4", -32602)
		c.ask(legacy("5", "resources/read", `"uri":"test://top/none"`)).wantError(t, "5", -32002)
		c.ask(modern("6", "ping", "")).wantError(t, "6", -32601)
	})
}

func TestAnswerToInitializePrecedesItsNotifications(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(modern("0", "server/discover", ""))
		for i := range 20 {
			c.send(modern(fmt.Sprint(i+1), "server/discover", ""))
		}
		c.send(initialize("99", "2025-11-25"), cancel("99")) // "The initialize request MUST NOT be cancelled"
		c.hub.Publish(listen.Change{List: true})
		c.out.setStall(nil)
		close(stall)
		got := c.frames()
		if len(got) != 23 || string(got[21].ID) != "99" || got[22].Method != "notifications/resources/list_changed" {
			t.Errorf("got %q", raws(got))
		}
	})
}

func TestSecondInitializeReplacesTheFirst(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.ask(initialize("1", "2025-03-26"))
		c.ask(legacy("2", "resources/subscribe", `"uri":"`+a+`"`))
		c.ask(initialize("3", "2025-11-25"))
		c.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		if f := c.only(); f.Method != "notifications/resources/list_changed" {
			t.Errorf("got %s", f.raw)
		}
		if c.hub.Len() != 1 {
			t.Errorf("%d streams", c.hub.Len())
		}
	})
}

func TestListenTakesABaselineFirst(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo("1", `"resourceSubscriptions":["`+a+`","test://top/dir/"]`), listenTo("2", `"resourcesListChanged":true`))
		if got := fmt.Sprint(c.cat.baselines); got != "[["+a+" test://top/dir]]" {
			t.Errorf("baselines: %s", got)
		}
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{"test://top/dir/x/y"}})
		c.raw(updated("1", "test://top/dir/"))
	})
}

func TestDuplicateIDs(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a] = gate
		c.send(read("1", a), listenTo("2", onlyA))
		c.frames()
		c.ask(read("1", b)).wantError(t, "1", -32600, "in flight")
		c.ask(modern("1", "nonsense", "")).wantError(t, "1", -32600)
		c.ask(listenTo("2", onlyA)).wantError(t, "2", -32600)
		for _, id := range []string{`"1"`, `"\u0031"`} {
			if f := c.ask(read(id, b)); string(f.ID) != id || f.Result == nil {
				t.Errorf("got %s", f.raw)
			}
		}
		// Two spellings of one string are one id.
		c.send(read(`"s"`, a))
		c.ask(read(`"\u0073"`, b)).wantError(t, `"\u0073"`, -32600)
		close(gate)
		if got := c.frames(); len(got) != 2 || got[0].Result == nil || got[1].Result == nil { // the first lives on
			t.Errorf("got %q", raws(got))
		}
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated("2", a))
	})
}

// Ids are the same if their JSON strings are. Those that are no text in UTF-8 are not all one.
func TestIDsOfSurrogatesDiffer(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		for _, id := range []string{`"\ud800"`, `"\ud801"`} {
			c.send(listenTo(id, onlyA))
			c.raw(acknowledged(id, onlyA))
		}
		c.send(cancel(`"\uD801"`))
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated(`"\ud800"`, a))
	})
}

func TestParametersOfTheWrongType(t *testing.T) {
	wrong := []string{"null", "1", "true", "[]", "{}", `"x"`}
	for _, test := range []struct{ method, name, more, right, word string }{
		{"resources/list", "cursor", `"cursor":%s`, `"`, "cursor"},
		{"resources/templates/list", "cursor", `"cursor":%s`, `"`, "cursor"},
		{"resources/read", "uri", `"uri":%s`, `"`, "uri"},
		{"completion/complete", "ref", `"argument":{"name":"path","value":""},"ref":%s`, `{`, "ref"},
		{"completion/complete", "ref.type", `"argument":{"name":"path","value":""},"ref":{"type":%s}`, `"`, "ref.type"},
		{"completion/complete", "ref.uri", `"argument":{"name":"path","value":""},"ref":{"type":"ref/resource","uri":%s}`, `"`, "ref.uri"},
		{"completion/complete", "argument", completable + `,"argument":%s`, `{`, "argument"},
		{"completion/complete", "argument.name", completable + `,"argument":{"name":%s}`, `"`, "argument.name"},
		{"completion/complete", "argument.value", completable + `,"argument":{"name":"path","value":%s}`, `"`, "argument.value"},
		{"completion/complete", "context", completing("") + `,"context":%s`, `{`, "context"},
		{"completion/complete", "arguments", completing("") + `,"context":{"arguments":%s}`, `{`, "context.arguments"},
		{"completion/complete", "an argument", completing("") + `,"context":{"arguments":{"x":"y","z":%s}}`, `"`, "context.arguments"},
		{"subscriptions/listen", "notifications", `"notifications":%s`, `{`, "notifications"},
		{"subscriptions/listen", "toolsListChanged", `"notifications":{"toolsListChanged":%s}`, `t`, "toolsListChanged"},
		{"subscriptions/listen", "resourcesListChanged", `"notifications":{"resourcesListChanged":%s}`, `t`, "resourcesListChanged"},
		{"subscriptions/listen", "resourceSubscriptions", `"notifications":{"resourceSubscriptions":%s}`, `[`, "resourceSubscriptions"},
		{"subscriptions/listen", "resourceSubscriptions[1]", `"notifications":{"resourceSubscriptions":["x",%s]}`, `"`, "resourceSubscriptions"},
	} {
		serve(t, func(t *testing.T, c *client) {
			for _, value := range wrong {
				if value[:1] == test.right {
					continue
				}
				c.ask(modern("1", test.method, ","+fmt.Sprintf(test.more, value))).wantError(t, "1", -32602, test.word)
			}
		})
	}
	serve(t, func(t *testing.T, c *client) {
		c.ask(modern("1", "subscriptions/listen", "")).wantError(t, "1", -32602, "notifications is missing")
		c.ask(modern("1", "resources/read", "")).wantError(t, "1", -32602, "uri is missing")
		c.ask(modern("1", "resources/read", `,"uri":"a","uri":"b"`)).wantError(t, "1", -32602, `"uri" occurs twice`)
		for _, cursor := range []string{"", "x", "first"} {
			c.ask(modern("1", "resources/list", `,"cursor":"`+cursor+`"`)).wantError(t, "1", -32602, "cursor", "list again")
			c.ask(modern("1", "resources/templates/list", `,"cursor":"`+cursor+`"`)).wantError(t, "1", -32602, "cursor")
		}
		// White space is nobody's business.
		if f := c.ask(` { "params" : { "uri" : "` + a + `" , ` + meta + ` } , "method" : "resources\/read", "id" : 1 , "jsonrpc" : "2.0" } `); f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
	})
}

// A round trip over the pipes a host makes: the bubble's are none.
func TestRealPipes(t *testing.T) {
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inR.Close()
	defer outW.Close()
	cat := newFakeCatalogue()
	cat.contents["test://top/large"] = mcp.Contents{Data: make([]byte, 1<<20)}
	hub := listen.NewHub(nil)
	done := make(chan error, 1)
	go func() { done <- NewServer(cat, hub, nil).ServeStdio(context.Background(), inR, outW) }()
	if _, err := io.WriteString(inW, listenTo("1", onlyA)+"\n"); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(outR)
	line, err := out.ReadString('\n')
	if err != nil || line != acknowledged("1", onlyA)+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	hub.Publish(listen.Change{Keys: []string{a}})
	if line, err = out.ReadString('\n'); err != nil || line != updated("1", a)+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	// The client takes no more: the large answer fails with EPIPE although the input stays open.
	outR.Close()
	if _, err := io.WriteString(inW, read("2", "test://top/large")+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("returned %v", err)
	}
	inW.Close()
}
