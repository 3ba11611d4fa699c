package transport

import (
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// completable is the ref of what is completed.
const completable = `"ref":{"type":"ref/resource","uri":"test://top/{+path}"}`

// completing are the params of a completion/complete, without _meta.
func completing(value string) string {
	return completable + `,"argument":{"name":"path","value":"` + value + `"}`
}

func TestCompletionInEachRevision(t *testing.T) {
	const (
		first = `"completion":{"values":["a.md","b.png","empty"],"total":3,"hasMore":false}`
		some  = `"completion":{"values":["a%20\"b\"/","a%C3%A9"],"total":200,"hasMore":true}`
		none  = `"completion":{"values":[],"total":0,"hasMore":false}`
	)
	serve(t, func(t *testing.T, c *client) {
		for value, want := range map[string]string{"": first, "a%": some, "x": none} {
			c.send(modern("1", "completion/complete", ","+completing(value)))
			// Neither ttlMs nor cacheScope: the schema's CompleteResult is none that may be cached.
			c.raw(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",` + want +
				`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcp-fsserve","version":"devel"}}}}`)
		}
	})
	for _, version := range mcp.LegacyVersions() {
		serve(t, func(t *testing.T, c *client) {
			c.ask(initialize("0", version))
			for value, want := range map[string]string{"": first, "a%": some, "x": none} {
				c.send(legacy("1", "completion/complete", completing(value)))
				c.raw(`{"jsonrpc":"2.0","id":1,"result":{` + want + `}}`)
			}
		})
	}
}

func TestCompletionContextIsIgnored(t *testing.T) {
	for _, context := range []string{`{}`, `{"arguments":{}}`, `{"arguments":{"path":"x","other":"y"},"more":1}`} {
		serve(t, func(t *testing.T, c *client) {
			if f := c.ask(modern("1", "completion/complete", ","+completing("")+`,"context":`+context)); !strings.Contains(f.raw, `"total":3`) {
				t.Errorf("got %s", f.raw)
			}
		})
	}
}

func TestCompletionOfWhatIsNotKnown(t *testing.T) {
	const ref, argument = completable, `"argument":{"name":"path","value":""}`
	serve(t, func(t *testing.T, c *client) {
		c.ask(initialize("0", "2025-06-18"))
		for params, word := range map[string]string{
			argument:               `ref is missing: name a resource template`,
			argument + `,"ref":{}`: `ref.type is missing: "ref/resource" is what is completed`,
			argument + `,"ref":{"type":"ref/prompt","name":"x"}`:                `ref.type "ref/prompt" is not completed, "ref/resource" is`,
			argument + `,"ref":{"type":"ref/resource"}`:                         `ref.uri is missing: name a resource template`,
			argument + `,"ref":{"type":"ref/resource","uri":"test://top/a.md"}`: `ref.uri "test://top/a.md" is not completed, "test://top/{+path}" is`,
			argument + `,"ref":{"type":"ref/resource","uri":""}`:                `ref.uri "" is not completed`,
			ref:                                 `argument is missing: give its name and its value`,
			ref + `,"argument":{}`:              `argument.name is missing: "path" is what is completed`,
			ref + `,"argument":{"value":""}`:    `argument.name is missing`,
			ref + `,"argument":{"name":"path"}`: `argument.value is missing: give what is typed so far`,
			ref + `,"argument":{"name":"x","value":""}`:               `argument.name "x" is not completed, "path" is`,
			ref + `,"argument":{"name":"path","value":"","value":""}`: `"value" occurs twice`,
		} {
			f := c.ask(modern("1", "completion/complete", ","+params))
			f.wantError(t, "1", -32602, word)
			if old := c.ask(legacy("1", "completion/complete", params)); old.raw != f.raw {
				t.Errorf("the eras differ: %s and %s", f.raw, old.raw)
			}
		}
		c.ask(modern("1", "completion/complete", "")).wantError(t, "1", -32602, "ref is missing")
		// What is repeated of a request does not grow without bound.
		f := c.ask(modern("1", "completion/complete", `,"ref":{"type":"ref/resource","uri":"`+strings.Repeat("x", 10_000)+`"},`+argument))
		if f.wantError(t, "1", -32602, "…"); len(f.raw) > 500 {
			t.Errorf("an error of %d bytes", len(f.raw))
		}
	})
}

// Completion may wait for the disk: it delays nothing else and can be cancelled.
func TestCompletionMayBlock(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block["a%"] = gate
		c.send(modern("1", "completion/complete", ","+completing("a%")), modern("2", "completion/complete", ","+completing("a%")))
		c.nothing()
		if f := c.ask(modern("3", "server/discover", "")); f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
		c.send(cancel("1"))
		close(gate)
		if f := c.only(); string(f.ID) != "2" || f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
	})
}
