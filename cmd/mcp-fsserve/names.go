package main

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// rawName is the name of r with the bytes that the disk has for it: where they are not valid UTF-8, only the URI tells
// two names apart.
func rawName(r mcp.Resource) string {
	if !strings.ContainsRune(r.Name, utf8.RuneError) {
		return r.Name
	}
	segments := strings.Split(r.URI, "/")
	depth := strings.Count(r.Name, "/") + 1
	raw, err := url.PathUnescape(strings.Join(segments[max(len(segments)-depth, 0):], "/"))
	if err != nil {
		return r.Name
	}
	return raw
}

// printable quotes a name that would not stay on its line, or would read as a quoted one.
func printable(name string) string {
	if strings.HasPrefix(name, `"`) || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(name)
	}
	return name
}
