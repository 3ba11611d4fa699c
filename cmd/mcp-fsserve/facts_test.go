package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

func TestFacts(t *testing.T) {
	text := []client.Content{{URI: "test://a&b", MIMEType: "text/plain", Data: []byte("one\r\ntwo\t2\n\x1b[2J"), Text: true}}
	blob := []client.Content{{URI: "x", Data: []byte{0}}}
	empty := []client.Content{{URI: "y", Text: true}}

	told := []client.Event{
		{Kind: client.Lost, Err: errors.New("refused\n"), Retry: 1500 * time.Microsecond},
		{Kind: client.Live, Followed: 0, Listed: 3},
		{Kind: client.Live, Followed: 1},
		{Kind: client.Updated, URI: "test://a&b", Contents: text},
		{Kind: client.Added, URI: "x", Contents: blob},
		{Kind: client.Added, URI: "y", Contents: empty},
		{Kind: client.Updated, URI: "z", Err: errors.New("gone")},
		{Kind: client.Removed, URI: "a\nlive 7 resources"},
		{Kind: client.ToolsChanged},
	}
	for name, test := range map[string]struct {
		asJSON, read bool
		want         string
	}{
		"for people": {false, false, `lost "refused\n"
live 0 resources
live 1 resource
updated test://a&b
list + x
list + y
updated z
list - "a\nlive 7 resources"
`},
		"for people with contents": {false, true, `lost "refused\n"
live 0 resources
live 1 resource
updated test://a&b
    one
    two	2
    "\x1b[2J"
list + x
    (unknown type, 1 byte)
list + y
    (empty)
updated z
    cannot be read: gone
list - "a\nlive 7 resources"
`},
		"as JSON": {true, false, `{"event":"lost","reason":"refused\n","retryMs":2}
{"event":"live","resources":0}
{"event":"live","resources":1}
{"event":"updated","uri":"test://a&b"}
{"event":"added","uri":"x"}
{"event":"added","uri":"y"}
{"event":"updated","uri":"z"}
{"event":"removed","uri":"a\nlive 7 resources"}
`},
		"as JSON with contents": {true, true, `{"event":"lost","reason":"refused\n","retryMs":2}
{"event":"live","resources":0}
{"event":"live","resources":1}
{"event":"updated","uri":"test://a&b","contents":[{"uri":"test://a&b","mimeType":"text/plain","text":"one\r\ntwo\t2\n\u001b[2J"}]}
{"event":"added","uri":"x","contents":[{"uri":"x","blob":"AA=="}]}
{"event":"added","uri":"y","contents":[{"uri":"y","text":""}]}
{"event":"updated","uri":"z","error":"gone"}
{"event":"removed","uri":"a\nlive 7 resources"}
`},
	} {
		var out bytes.Buffer
		f := &facts{out: &out, asJSON: test.asJSON, read: test.read}
		for _, e := range told {
			must(t, f.tell(e))
		}
		if out.String() != test.want {
			t.Errorf("%s: printed\n%s\nwant\n%s", name, out.String(), test.want)
		}
	}
}
