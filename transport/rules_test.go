package transport

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

const (
	a     = "test://top/a.md"
	b     = "test://top/b.png"
	onlyA = `"resourceSubscriptions":["` + a + `"]`
)

func TestRule01NeverDeliversWhatWasNotAskedFor(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo("1", onlyA), listenTo("2", `"resourcesListChanged":true`))
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{b}, Tools: true, Prompts: true})
		c.nothing()
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated("1", a))
		c.hub.Publish(listen.Change{List: true})
		c.raw(listChanged("2"))
	})
}

func TestRule02AcknowledgesFirstAndLosesNothing(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(modern("0", "server/discover", ""), listenTo("1", onlyA+`,"resourcesListChanged":true`))
		c.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		c.out.setStall(nil)
		close(stall)
		got := raws(c.frames())
		if len(got) != 4 || got[1] != acknowledged("1", `"resourcesListChanged":true,`+onlyA) {
			t.Fatalf("the acknowledgement is not first: %q", got)
		}
		if rest := got[2:]; !slices.Contains(rest, updated("1", a)) || !slices.Contains(rest, listChanged("1")) {
			t.Errorf("lost a change: %q", rest)
		}
	})
}

func TestRule03AcknowledgesTheHonouredSubset(t *testing.T) {
	for _, test := range [][2]string{
		{`"resourcesListChanged":true,"toolsListChanged":true,"promptsListChanged":true`, `"resourcesListChanged":true`},
		{`"resourcesListChanged":false,` + onlyA, onlyA},
		{`"resourceSubscriptions":["` + a + `","file:///etc/passwd","` + a + `","test://top/not/yet"]`,
			`"resourceSubscriptions":["` + a + `","test://top/not/yet"]`},
		{onlyA + `,"novelty":{}`, onlyA},
	} {
		serve(t, func(t *testing.T, c *client) {
			c.send(listenTo("1", test[0]))
			c.raw(acknowledged("1", test[1]))
		})
	}
	// Nothing honoured: acknowledged, then complete.
	for _, filter := range []string{"", `"toolsListChanged":true`, `"resourceSubscriptions":["other://x"]`} {
		serve(t, func(t *testing.T, c *client) {
			c.send(listenTo("1", filter))
			c.raw(acknowledged("1", ""), completed("1"))
			c.send(listenTo("1", onlyA)) // the id is free again
			c.raw(acknowledged("1", onlyA))
		})
	}
}

func TestRule04TagsEveryMessageWithTheIDAsSpelled(t *testing.T) {
	for _, id := range []string{"0", "1", `"1"`, "-7", "9007199254740993", `"` + strings.Repeat("x", 254) + `"`, `"a\u0062\/"`, `""`} {
		serve(t, func(t *testing.T, c *client) {
			c.send(listenTo(id, onlyA))
			c.raw(acknowledged(id, onlyA))
			c.hub.Publish(listen.Change{Keys: []string{a}})
			c.raw(updated(id, a))
			c.close()
			c.raw(completed(id))
		})
	}
}

func TestRule05ListensAreIndependent(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo("1", onlyA), listenTo(`"1"`, onlyA+`,"resourcesListChanged":true`), listenTo("2", `"resourcesListChanged":true`))
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		got := raws(c.frames())
		slices.Sort(got)
		want := []string{updated("1", a), updated(`"1"`, a), listChanged(`"1"`), listChanged("2")}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		c.send(cancel(`"1"`))
		after(time.Second)
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated("1", a))
	})
}

func TestRule06EndsByCancelByServerOrWithTheTransport(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo("1", onlyA), listenTo("2", onlyA))
		c.frames()
		c.send(cancel("1"))
		c.nothing() // a cancelled listen is not answered
		go c.hub.Shutdown(t.Context())
		c.raw(completed("2"))
		c.send(listenTo("3", onlyA))
		c.only().wantError(t, "3", -32603, "shutting down")
	})
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo("1", onlyA))
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{a}}) // paced, but owed at the end
		c.close()
		c.raw(updated("1", a), completed("1"))
	})
}

func TestRule07NoProgressOrLogMessagesOnAListen(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		line := modern("1", "subscriptions/listen", `,"notifications":{`+onlyA+`}`)
		line = strings.Replace(line, `"_meta":{`, `"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug",`, 1)
		c.send(line)
		c.raw(acknowledged("1", onlyA))
		if f := c.ask(strings.Replace(read("2", "test://top/odd"), `"_meta":{`, `"_meta":{"progressToken":2,`, 1)); f.Error == nil {
			t.Errorf("got %s", f.raw)
		}
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated("1", a))
		c.close()
		c.raw(completed("1"))
	})
}

func TestRule08CancelStopsAndSilences(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.cat.block[a] = make(chan struct{})
		c.send(read("1", a), read("2", b))
		if f := c.only(); string(f.ID) != "2" {
			t.Errorf("a blocked read delays another: %s", f.raw)
		}
		if c.cat.busy() != 1 {
			t.Fatalf("%d reads are running", c.cat.busy())
		}
		c.send(cancel("1"))
		if c.cat.busy() != 0 {
			t.Error("the work goes on")
		}
		c.nothing()
		c.send(read("1", b)) // the id is free
		if f := c.only(); f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
	})
	// An answer that is already queued is not sent either, and the id belongs to the next request at once.
	serve(t, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(modern("0", "server/discover", ""))
		c.send(read("1", a), read("2", a), modern("3", "server/discover", ""))
		c.send(cancel("1"), cancel("3"), listenTo("1", onlyA))
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.send(cancel("1"), read("3", "test://top/none"))
		c.out.setStall(nil)
		close(stall)
		got := c.frames()
		if len(got) != 3 || string(got[1].ID) != "2" {
			t.Fatalf("got %q", raws(got))
		}
		got[2].wantError(t, "3", -32602)
	})
	// A deaf catalogue: silence all the same.
	serve(t, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a], c.cat.deaf = gate, true
		c.send(read("1", a), cancel("1"))
		c.send(read("1", b))
		c.only()
		close(gate)
		c.nothing()
	})
}

func TestRule09UnknownFinishedAndMalformedCancelsAreIgnored(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.ask(read("1", a))
		c.send(cancel("1"), cancel("1"), cancel(`"1"`), cancel("2"), cancel("null"), cancel("1.5"), cancel("{}"), cancel("[]"),
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":7}}`,
			`{"jsonrpc":"2.0","method":"notifications/unknown","params":{}}`)
		c.nothing()
		c.ask(read("1", a))
		// The type of the id counts.
		c.send(listenTo("1", onlyA), cancel(`"1"`))
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.raw(updated("1", a))
	})
}

func TestRule10CancelBeforeTheAcknowledgementLeavesNone(t *testing.T) {
	serveWith(t, nil, func() *fakeCatalogue {
		cat := newFakeCatalogue()
		cat.slowBaseline = make(chan struct{})
		return cat
	}, func(t *testing.T, c *client) {
		c.send(listenTo("1", onlyA), cancel("1"))
		c.nothing()
		if c.hub.Len() != 0 {
			t.Error("the stream is open")
		}
		c.send(listenTo("1", onlyA))
		c.nothing()
		close(c.cat.slowBaseline)
		c.raw(acknowledged("1", onlyA))
	})
}

func TestRule11MetaIsRequired(t *testing.T) {
	const version, capabilities, info = mcp.MetaProtocolVersion, mcp.MetaClientCapabilities, mcp.MetaClientInfo
	for _, test := range []struct{ meta, word string }{
		{`"` + capabilities + `":{}`, version},
		{`"` + version + `":"2026-07-28"`, capabilities},
		{`"` + info + `":{"name":"x","version":"1"}`, version},
		{`"` + version + `":20260728,"` + capabilities + `":{}`, version},
		{`"` + version + `":null,"` + capabilities + `":{}`, version},
		{`"` + version + `":"2026-07-28","` + capabilities + `":[]`, capabilities},
		{`"` + version + `":"2026-07-28","` + capabilities + `":null`, capabilities},
		{`"` + version + `":"1999-01-01","` + capabilities + `":true`, capabilities}, // shape before version
		{`"` + version + `":"2026-07-28","` + capabilities + `":{},"` + info + `":"me"`, info},
		{`"` + version + `":"2026-07-28","` + capabilities + `":{},"` + info + `":{"name":1,"version":"1"}`, info + ".name"},
		{`"` + version + `":"2026-07-28","` + version + `":"2025-11-25"`, version},
	} {
		serve(t, func(t *testing.T, c *client) {
			c.ask(legacy("1", "resources/list", `"_meta":{`+test.meta+`}`)).wantError(t, "1", -32602, test.word)
			c.ask(initialize("2", "2025-11-25"))
			c.ask(legacy("3", "nonsense", `"_meta":{`+test.meta+`}`)).wantError(t, "3", -32602, test.word)
		})
	}
	serve(t, func(t *testing.T, c *client) {
		c.ask(legacy("1", "resources/list", "")).wantError(t, "1", -32602, "_meta is missing", "initialize")
		c.ask(legacy("1", "resources/list", `"_meta":7`)).wantError(t, "1", -32602, "_meta must be an object")
		c.ask(legacy("1", "initialize", `"_meta":[]`)).wantError(t, "1", -32602, "_meta must be an object")
		c.ask(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`).wantError(t, "1", -32602, "_meta is missing")
		c.ask(initialize("2", "2025-11-25"))
		c.ask(legacy("1", "server/discover", "")).wantError(t, "1", -32602, "_meta is missing")
		c.ask(legacy("1", "subscriptions/listen", `"notifications":{}`)).wantError(t, "1", -32602, "_meta is missing")
		// clientInfo is optional.
		line := strings.Replace(modern("1", "server/discover", ""), `"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},`, "", 1)
		if f := c.ask(line); f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
	})
}

func TestRule12UnknownVersionsAndMethods(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		for _, version := range []string{"2025-11-25", "2024-11-05", "1900-01-01", "2027-01-01", ""} {
			for _, method := range []string{"server/discover", "resources/list", "nonsense"} { // version before method
				f := c.ask(strings.Replace(modern("1", method, ""), "2026-07-28", version, 1))
				f.wantError(t, "1", -32022)
				want := fmt.Sprintf(`{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":%q}`, version)
				if f.Error != nil && string(f.Error.Data) != want {
					t.Errorf("data %s", f.Error.Data)
				}
			}
		}
		for _, initialized := range []bool{false, true} {
			for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
				"tools/list", "prompts/list", "prompts/get", "tasks/list", "nonsense", "notifications/cancelled", "Server/Discover"} {
				c.ask(modern("1", method, `,"uri":7`)).wantError(t, "1", -32601, method)
				if _, ok := legacyMethods[method]; initialized && !ok {
					c.ask(legacy("1", method, "")).wantError(t, "1", -32601, method)
				}
			}
			c.ask(initialize("9", "2025-11-25"))
		}
		for method, words := range map[string]string{
			"tools/list": "is not served", "prompts/list": "is not served", "prompts/get": "is not served", "nonsense": "is not served",
			"ping": "is not part of revision 2026-07-28", "resources/subscribe": "is not part of revision 2026-07-28",
		} {
			c.ask(modern("1", method, "")).wantError(t, "1", -32601, words)
		}
		long := c.ask(modern("1", strings.Repeat("é", 5000), ""))
		long.wantError(t, "1", -32601)
		if len(long.raw) > 600 {
			t.Errorf("the error repeats %d bytes", len(long.raw))
		}
	})
}

func TestRule13IDsAreStringsOrIntegers(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		for _, id := range []string{"null", "1.5", "1e3", "true", "{}", "[1]", `"` + strings.Repeat("x", 255) + `"`} {
			c.ask(modern(id, "server/discover", "")).wantError(t, "", -32600, "id must be")
			if strings.Contains(c.ask(modern(id, "server/discover", "")).raw, `"id"`) {
				t.Errorf("an unreadable id is answered with one")
			}
		}
		for _, id := range []string{"0", "-1", "9007199254740993", `"7"`, `"\u00e9\n"`} {
			if f := c.ask(modern(id, "server/discover", "")); string(f.ID) != id || f.Result == nil {
				t.Errorf("got %s", f.raw)
			}
		}
	})
}

func TestRule14ResultsCarryTypeAndServerInfo(t *testing.T) {
	opts := &Options{Info: mcp.Implementation{Name: "other", Title: "T", Version: "9"}}
	serveWith(t, opts, newFakeCatalogue, func(t *testing.T, c *client) {
		for _, line := range []string{
			modern("1", "server/discover", ""), modern("1", "resources/list", ""), modern("1", "resources/templates/list", ""), read("1", a),
			modern("1", "completion/complete", ","+completing("")),
		} {
			var result struct {
				ResultType string
				Meta       map[string]mcp.Implementation `json:"_meta"`
			}
			f := c.ask(line)
			if err := json.Unmarshal(f.Result, &result); err != nil {
				t.Fatalf("%v: %s", err, f.raw)
			}
			if result.ResultType != "complete" || result.Meta[mcp.MetaServerInfo] != opts.Info {
				t.Errorf("got %s", f.raw)
			}
		}
	})
}

func TestRule15Discover(t *testing.T) {
	serveWith(t, &Options{Instructions: "Use it."}, newFakeCatalogue, func(t *testing.T, c *client) {
		c.send(modern(`"d"`, "server/discover", ""))
		c.raw(`{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete",` +
			`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
			`"capabilities":{"resources":{"subscribe":true,"listChanged":true},"completions":{}},"instructions":"Use it.",` +
			`"ttlMs":3600000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcp-fsserve","version":"devel"}}}}`)
	})
}

func TestRule16Codes(t *testing.T) {
	reserved := map[int]bool{mcp.UnsupportedProtocolVersion: true, mcp.HeaderMismatch: true}
	for _, modern := range []bool{true, false} {
		for _, err := range []error{
			&mcp.NotFoundError{}, mcp.ErrBadCursor, &mcp.TooLargeError{}, &mcp.ReadError{}, listen.ErrTooManyStreams, listen.ErrShutdown,
			errLeaving, checkVersion("x"), unknown("x", "y"), invalid("x"), fmt.Errorf("wrapped: %w", &mcp.NotFoundError{}), fmt.Errorf("/host"),
		} {
			e, _ := wireError(err, modern)
			if e.Code <= -32000 && e.Code >= -32099 && !reserved[e.Code] && (modern || e.Code != mcp.LegacyResourceNotFound) {
				t.Errorf("%v: code %d", err, e.Code)
			}
			if strings.Contains(e.Message, "/host") {
				t.Errorf("%v: message %q", err, e.Message)
			}
		}
	}
}

func TestRule17CachingHints(t *testing.T) {
	serveWith(t, &Options{TTL: 1500 * time.Millisecond}, newFakeCatalogue, func(t *testing.T, c *client) {
		for _, line := range []string{
			modern("1", "resources/list", ""), modern("1", "resources/list", `,"cursor":"p2"`),
			modern("1", "resources/templates/list", ""), read("1", a),
		} {
			if f := c.ask(line); !strings.Contains(f.raw, `,"ttlMs":1500,"cacheScope":"private",`) {
				t.Errorf("got %s", f.raw)
			}
		}
		// What server/discover says is not a matter of files.
		if f := c.ask(modern("1", "server/discover", "")); !strings.Contains(f.raw, `,"ttlMs":3600000,"cacheScope":"private",`) {
			t.Errorf("got %s", f.raw)
		}
		// A completion is not to be cached, nor is what ends a listen.
		for _, line := range []string{modern("1", "completion/complete", ","+completing("")), listenTo("2", "")} {
			c.send(line)
			if got := c.frames(); strings.Contains(fmt.Sprint(raws(got)), "ttlMs") {
				t.Errorf("got %s", raws(got))
			}
		}
	})
	serveWith(t, &Options{TTL: -time.Second}, newFakeCatalogue, func(t *testing.T, c *client) {
		if f := c.ask(read("1", a)); !strings.Contains(f.raw, `,"ttlMs":0,`) {
			t.Errorf("got %s", f.raw)
		}
	})
}

func TestRule18Read(t *testing.T) {
	const tail = `],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcp-fsserve","version":"devel"}}}}`
	serve(t, func(t *testing.T, c *client) {
		c.send(read("1", a))
		c.raw(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"test://top/a.md","mimeType":"text/markdown",` +
			`"text":"# A\n\"q\" \\ \u0001 ünï <&>` + "\u2028" + `\n"}` + tail)
		c.send(read("1", "test://top/empty"))
		c.raw(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"test://top/empty","mimeType":"text/plain","text":""}` + tail)
		c.send(read("1", b))
		c.raw(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"test://top/b.png","mimeType":"image/png","blob":"iVBOR/8="}` + tail)
		none := c.ask(read("1", "test://top/none"))
		none.wantError(t, "1", -32602, "not found")
		if string(none.Error.Data) != `{"uri":"test://top/none"}` {
			t.Errorf("data %s", none.Error.Data)
		}
		c.ask(read("1", "test://top/big")).wantError(t, "1", -32603, "20971520", "16777216")
		c.ask(read("1", "test://top/locked")).wantError(t, "1", -32603, "permission denied")
		odd := c.ask(read("1", "test://top/odd"))
		odd.wantError(t, "1", -32603)
		if strings.Contains(odd.raw, "secret") {
			t.Errorf("a path of the host: %s", odd.raw)
		}
	})
}

func TestRule19OneMessageALine(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.send("", "   ", "\t\r", modern("1", "server/discover", "")+"\r", "")
		c.only()
		for _, line := range []string{
			"nonsense", `{"jsonrpc":"2.0","id":1,"method":"ping"`, "{}{}", `{"jsonrpc":"2.0","id":1,"method":"a` + "\xff" + `"}`, "[", "\x00", `{"a":1,}`, `[1,`,
		} {
			c.ask(line).wantError(t, "", -32700)
		}
		for _, line := range []string{
			`1`, `"x"`, `{}`, `[]`, `[1]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0"}`, `null`, `true`,
			`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
		} {
			c.ask(line).wantError(t, "", -32600)
		}
		for _, line := range []string{
			`{"id":3,"method":"ping"}`, `{"jsonrpc":"1.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3}`, `{"jsonrpc":"2.0","id":3,"method":7}`,
			`{"jsonrpc":"2.0","id":3,"method":""}`,
		} {
			c.ask(line).wantError(t, "3", -32600)
		}
		c.ask(`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":[1]}`).wantError(t, "3", -32602, "params must be an object")
		// Responses and malformed notifications are not answered.
		c.send(`{"jsonrpc":"2.0","id":3,"result":{}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","error":{"code":1,"message":""}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","method":"notifications/x","params":[]}`, `{"jsonrpc":"2.0","method":"ping"}`)
		c.nothing()
		if f := c.ask(modern("1", "server/discover", "")); f.Result == nil {
			t.Errorf("the session ended: %s", f.raw)
		}
	})
	serveWith(t, &Options{MaxLine: 300}, newFakeCatalogue, func(t *testing.T, c *client) {
		long := modern("5", "resources/read", `,"uri":"`+strings.Repeat("x", 500)+`"`)
		c.ask(long).wantError(t, "5", -32600, "longer than 300 bytes")
		c.ask(strings.Repeat("x", 1<<20)).wantError(t, "", -32600, "longer than 300 bytes")
		c.ask(modern("6", "server/discover", ""))
		// The refusal does not wait for the end of the line.
		if _, err := c.in.Write([]byte(strings.Repeat("y", 400))); err != nil {
			t.Error(err)
		}
		c.only().wantError(t, "", -32600)
		c.send("z")
		c.nothing()
		c.ask(modern("6", "server/discover", ""))
	})
}

func TestRule20LeavesAtTheEndOfInput(t *testing.T) {
	for _, last := range []string{"", "\n", "\n \n"} {
		serve(t, func(t *testing.T, c *client) {
			start := time.Now()
			c.send(listenTo("1", onlyA))
			c.frames()
			if _, err := c.in.Write([]byte(read("2", a) + last)); err != nil {
				t.Error(err)
			}
			c.close()
			got := c.frames()
			if len(got) != 2 || !slices.Contains(raws(got), completed("1")) {
				t.Errorf("got %q", raws(got))
			}
			if time.Since(start) != 0 {
				t.Errorf("took %v", time.Since(start))
			}
		})
	}
}

func TestRule27Initialize(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1.0": "2025-11-25", "": "2025-11-25",
	} {
		opts := &Options{Info: mcp.Implementation{Name: "n", Title: "T", Version: "1"}, Instructions: "Use it."}
		serveWith(t, opts, newFakeCatalogue, func(t *testing.T, c *client) {
			title, completions := `"title":"T",`, `,"completions":{}`
			if want < "2025-06-18" {
				title = ""
			}
			if want < "2025-03-26" { // the capability is younger than the method
				completions = ""
			}
			c.send(initialize("0", asked))
			c.raw(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"` + want + `","capabilities":{"resources":{"subscribe":true,"listChanged":true}` + completions + `},` +
				`"serverInfo":{"name":"n",` + title + `"version":"1"},"instructions":"Use it."}}`)
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			c.nothing()
		})
	}
	serve(t, func(t *testing.T, c *client) {
		for params, word := range map[string]string{
			"":                       "protocolVersion is missing",
			`"protocolVersion":1`:    "protocolVersion must be a string",
			`"protocolVersion":null`: "protocolVersion must be a string",
			`"protocolVersion":"2025-11-25","clientInfo":"x"`:           "clientInfo must be an object",
			`"protocolVersion":"2025-11-25","clientInfo":{"version":2}`: "clientInfo.version must be a string",
			`"protocolVersion":"2025-11-25","capabilities":[]`:          "capabilities must be an object",
		} {
			c.ask(legacy("1", "initialize", params)).wantError(t, "1", -32602, word)
		}
		c.ask(legacy("1", "ping", "")).wantError(t, "1", -32602, "_meta") // no session was opened
	})
}

func TestRule28PingSubscribeAndUntaggedNotifications(t *testing.T) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	const updatedA = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + a + `"}}`
	empty := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	serve(t, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-11-25"))
		c.send(legacy("1", "ping", ""), `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		c.raw(empty("1"), empty("2"))
		c.hub.Publish(listen.Change{List: true, Keys: []string{a}})
		c.raw(changed)
		c.ask(legacy("3", "resources/subscribe", "")).wantError(t, "3", -32602, "uri is missing")
		c.ask(legacy("3", "resources/subscribe", `"uri":["x"]`)).wantError(t, "3", -32602, "uri must be a string")
		c.ask(legacy("3", "resources/unsubscribe", `"uri":1`)).wantError(t, "3", -32602, "uri must be a string")
		for _, method := range []string{"resources/read", "resources/subscribe", "resources/unsubscribe"} {
			c.ask(legacy("3", method, `"uri":"x\ud800"`)).wantError(t, "3", -32602, "uri has an escape that is half of a character")
		}
		c.ask(legacy("3", "resources/subscribe", `"uri":"other://x"`)).wantError(t, "3", -32002, "not found")
		c.send(legacy("3", "resources/subscribe", `"uri":"`+a+`"`))
		c.raw(empty("3"))
		c.hub.Publish(listen.Change{Keys: []string{a, b}})
		c.raw(updatedA)
		c.send(legacy("4", "resources/unsubscribe", `"uri":"`+a+`"`), legacy("5", "resources/unsubscribe", `"uri":"`+a+`"`))
		c.raw(empty("4"), empty("5"))
		after(time.Second)
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.nothing()
		c.ask(legacy("6", "resources/read", `"uri":"test://top/none"`)).wantError(t, "6", -32002)
		c.close()
		c.nothing() // no result ends an untagged stream
	})
	// In the order of arrival, also while the first is slow or is cancelled.
	serveWith(t, &Options{MaxInFlight: 2}, func() *fakeCatalogue {
		cat := newFakeCatalogue()
		cat.slowBaseline = make(chan struct{})
		return cat
	}, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-06-18"))
		for i := range 4 {
			c.send(legacy(fmt.Sprint(2*i+1), "resources/subscribe", `"uri":"`+a+`"`), legacy(fmt.Sprint(2*i+2), "resources/unsubscribe", `"uri":"`+a+`"`))
		}
		c.send(cancel("1"), cancel("4"), cancel("5"))
		close(c.cat.slowBaseline)
		if got := c.frames(); len(got) != 5 {
			t.Errorf("got %q", raws(got))
		}
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.nothing()
	})
	// One that is cancelled while it is served has no effect.
	serveWith(t, nil, func() *fakeCatalogue {
		cat := newFakeCatalogue()
		cat.slowBaseline = make(chan struct{})
		return cat
	}, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-11-25"))
		c.send(legacy("1", "resources/subscribe", `"uri":"`+a+`"`), cancel("1"))
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.nothing()
		close(c.cat.slowBaseline)
	})
	// Those that wait for their turn keep no others from being served.
	serveWith(t, nil, func() *fakeCatalogue {
		cat := newFakeCatalogue()
		cat.slowBaseline = make(chan struct{})
		return cat
	}, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-11-25"))
		for i := range 200 {
			c.send(legacy(fmt.Sprint(100+i), "resources/subscribe", `"uri":"`+a+`"`))
		}
		if f := c.ask(read("1", b)); f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
		close(c.cat.slowBaseline)
		got := c.frames()
		for i, f := range got {
			if string(f.ID) != fmt.Sprint(100+i) || f.Result == nil {
				t.Errorf("answer %d is %s", i, f.raw)
			}
		}
		if len(got) != 200 {
			t.Errorf("%d answers", len(got))
		}
	})
	serveWith(t, &Options{MaxURIs: 1}, newFakeCatalogue, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-06-18"))
		c.ask(legacy("1", "resources/subscribe", `"uri":"`+a+`"`))
		c.ask(legacy("2", "resources/subscribe", `"uri":"`+b+`"`)).wantError(t, "2", -32602, "unsubscribe")
		if f := c.ask(legacy("3", "resources/subscribe", `"uri":"`+a+`"`)); f.Result == nil { // identical URIs count once
			t.Errorf("got %s", f.raw)
		}
	})
}

func TestRule29LegacyResultsAndBatches(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"result":{`
	for _, version := range mcp.LegacyVersions() {
		modified, title := `,"annotations":{"lastModified":"2025-01-12T15:00:58Z"}`, `"title":"Root",`
		if version < "2025-06-18" {
			modified, title = "", ""
		}
		serve(t, func(t *testing.T, c *client) {
			c.ask(initialize("0", version))
			for request, want := range map[string]string{
				legacy("1", "tools/list", ""):               hello + `"tools":[]}}`,
				legacy("1", "prompts/list", ""):             hello + `"prompts":[]}}`,
				legacy("1", "resources/templates/list", ""): hello + `"resourceTemplates":[{"uriTemplate":"test://top/{+path}","name":"root",` + title + `"description":"any file"}]}}`,
				legacy("1", "resources/list", ""): hello + `"resources":[{"uri":"test://top/a.md","name":"a.md","mimeType":"text/markdown","size":22` + modified + `},` +
					`{"uri":"test://top/empty","name":"empty","mimeType":"text/plain","size":0}],"nextCursor":"p2"}}`,
				legacy("1", "resources/read", `"uri":"`+b+`"`): hello + `"contents":[{"uri":"test://top/b.png","mimeType":"image/png","blob":"iVBOR/8="}]}}`,
			} {
				c.send(request)
				c.raw(want)
			}
			c.ask(legacy("1", "tools/list", `"cursor":"x"`)).wantError(t, "1", -32602, "cursor")
			f := c.ask(`[` + legacy("1", "ping", "") + `]`)
			if version == "2025-03-26" {
				if f.raw != `[{"jsonrpc":"2.0","id":1,"result":{}}]` {
					t.Errorf("got %s", f.raw)
				}
			} else {
				f.wantError(t, "", -32600, "batches")
			}
		})
	}
	serve(t, func(t *testing.T, c *client) {
		c.ask(`[`+legacy("1", "ping", "")+`]`).wantError(t, "", -32600, "batches")
		c.ask(initialize("0", "2025-03-26"))
		c.ask(`[]`).wantError(t, "", -32600)
		c.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":1,"result":{}}]`)
		c.nothing()
		gate := make(chan struct{})
		c.cat.block[a] = gate
		c.send(`[`+strings.Join([]string{
			legacy(`"r"`, "resources/read", `"uri":"`+a+`"`), legacy("2", "ping", ""), "7", legacy("2", "ping", ""), modern("3", "server/discover", ""),
			initialize("4", "2025-11-25"), legacy("5", "nonsense", ""), cancel("99"), legacy(`"x"`, "resources/read", `"uri":"`+a+`"`), listenTo("6", onlyA),
		}, ",")+`]`, legacy("7", "ping", ""), cancel(`"x"`))
		c.raw(`{"jsonrpc":"2.0","id":7,"result":{}}`)
		close(gate)
		var all []frame
		f := c.only()
		if err := json.Unmarshal([]byte(f.raw), &all); err != nil || len(all) != 8 {
			t.Fatalf("%v: %d answers: %s", err, len(all), f.raw)
		}
		if string(all[0].ID) != `"r"` || all[0].Result == nil || string(all[1].ID) != "2" || all[1].Result == nil {
			t.Errorf("got %s", f.raw)
		}
		for i, want := range []struct {
			id   string
			code int
		}{{"", -32600}, {"2", -32600}, {"3", -32600}, {"4", -32600}, {"5", -32601}, {"6", -32600}} {
			all[i+2].wantError(t, want.id, want.code)
		}
		// A batch of which everything is cancelled is not answered.
		c.cat.block[a] = make(chan struct{})
		c.send(`[`+legacy("1", "resources/read", `"uri":"`+a+`"`)+`]`, cancel("1"))
		c.nothing()
		// More members than may be worked on, and more than are allowed.
		if f := c.ask(batchOf("m", 100, b)); strings.Count(f.raw, `"result"`) != 100 {
			t.Errorf("not all answered")
		}
		c.ask(batchOf("m", 101, b)).wantError(t, "", -32600, "more than 100 members")
	})
}
