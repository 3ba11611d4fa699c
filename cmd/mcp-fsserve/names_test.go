package main

import (
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

func TestRawNameKeepsTheNameOfItsDirectory(t *testing.T) {
	for _, c := range []struct{ name, uri, want string }{
		{"a\ufffd", "file:///srv/docs/a%FF", "a\xff"},
		{"notes/a\ufffd", "file:///srv/docs/a%FF", "notes/a\xff"},
		{"notes/in \ufffd/b", "file:///srv/docs/in%20%FE/b", "notes/in \xfe/b"},
		{"notes/\ufffd/\ufffd", "test://notes/%EF%BF%BD/%FF", "notes/\ufffd/\xff"},
	} {
		if got := rawName(mcp.Resource{Name: c.name, URI: c.uri}); got != c.want {
			t.Errorf("%q at %s is %q, want %q", c.name, c.uri, got, c.want)
		}
	}
}
