package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/examples/outcomes"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// caller is a client of one server, in words of the protocol.
type caller struct {
	*testing.T
	ctx    context.Context
	conn   wire.Conn
	events chan wire.Event
}

func call(t *testing.T, target wire.Target) *caller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c := &caller{T: t, ctx: ctx, events: make(chan wire.Event, 10_000)}
	conn, err := wire.Dial(ctx, target, func(e wire.Event) { c.events <- e })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	c.conn = conn
	return c
}

// send sends a request. params are what is in its params before _meta.
func (c *caller) send(id, method, params string) {
	c.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, params, meta)
	if err := c.conn.Send(c.ctx, []byte(message)); err != nil {
		c.Fatal(err)
	}
}

// next is the next message that the server sends.
func (c *caller) next() *wire.Message {
	c.Helper()
	for {
		select {
		case e := <-c.events:
			if e.Message != nil {
				return e.Message
			}
			if e.Err != nil {
				c.Fatalf("the connection ends with %v", e.Err)
			}
		case <-c.ctx.Done():
			c.Fatal("nothing more comes")
		}
	}
}

// eachServer runs a test against the servers that have the extension, on pipes and over HTTP.
func eachServer(t *testing.T, test func(t *testing.T, target wire.Target)) {
	for _, name := range []string{"go-sdk", "mcp-go"} {
		t.Run(name+"/pipe", func(t *testing.T) {
			t.Parallel()
			test(t, wire.Target{Command: []string{program(name), "--interval", "20ms"}})
		})
		t.Run(name+"/http", func(t *testing.T) {
			t.Parallel()
			test(t, wire.Target{URL: overHTTP(t, name, "--interval", "20ms")})
		})
	}
}

// TestOutcomes listens with the extension beside a listen without: the first is told how jobs ended, each in its turn, the
// second is not, and both are told of the list.
func TestOutcomes(t *testing.T) {
	eachServer(t, func(t *testing.T, target wire.Target) {
		c := call(t, target)
		c.send(`"with"`, "subscriptions/listen", `"notifications":{"com.example/unknown":[],"com.example/outcomes":{"failedOnly":true},"resourcesListChanged":true},`)
		c.send(`"without"`, "subscriptions/listen", `"notifications":{"resourcesListChanged":true},`)
		acks, lists, ended := map[string]string{}, map[string]int{}, []int{}
		for len(ended) < 5 || lists["with"] == 0 || lists["without"] == 0 {
			m := c.next()
			var params struct {
				Meta struct {
					ID string `json:"io.modelcontextprotocol/subscriptionId"`
				} `json:"_meta"`
				Notifications json.RawMessage
				Number        int
				Failed        bool
			}
			if err := json.Unmarshal(m.Params, &params); err != nil {
				t.Fatalf("%v in %s", err, m.Raw)
			}
			switch id := params.Meta.ID; {
			case m.Method == acknowledged && acks[id] == "":
				acks[id] = string(params.Notifications)
			case m.Method == "notifications/resources/list_changed" && acks[id] != "":
				lists[id]++
			case m.Method == outcomes.Method && id == "with" && acks[id] != "" && params.Failed:
				ended = append(ended, params.Number)
			default:
				t.Fatalf("unexpected: %s", m.Raw)
			}
		}
		for i, n := range ended[1:] {
			if n%3 != 0 || n == ended[i] {
				t.Errorf("jobs %d failed", ended)
			}
		}
		if want := `{"resourcesListChanged":true,"com.example/outcomes":{"failedOnly":true}}`; acks["with"] != want {
			t.Errorf("acknowledged was %s, want %s", acks["with"], want)
		}
	})
}

// TestOutcomesRefused: of parameters that cannot be understood.
func TestOutcomesRefused(t *testing.T) {
	eachServer(t, func(t *testing.T, target wire.Target) {
		c := call(t, target)
		for _, bad := range []string{`"all"`, `null`, `true`, `[]`, `{"failedOnly":1}`} {
			c.send(`1`, "subscriptions/listen", `"notifications":{"com.example/outcomes":`+bad+`},`)
			m := c.next()
			if m.Error == nil || m.Error.Code != -32602 || string(m.ID) != "1" || !strings.Contains(m.Error.Message, outcomes.Member) {
				t.Errorf("%s is answered by %s", bad, m.Raw)
			}
		}
	})
}
