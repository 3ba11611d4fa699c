package main

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// rawName is the name of r with the bytes that the disk has for it: where they are not valid UTF-8, only the URI tells
// two names apart. The first segment may be the name of a directory, which need not be in the URI.
func rawName(r mcp.Resource) string {
	if !strings.ContainsRune(r.Name, utf8.RuneError) {
		return r.Name
	}
	segments, escaped := strings.Split(r.Name, "/"), strings.Split(r.URI, "/")
	escaped = escaped[len(escaped)-len(segments):]
	for i, s := range segments {
		if raw, err := url.PathUnescape(escaped[i]); err == nil && strings.ContainsRune(s, utf8.RuneError) {
			segments[i] = raw
		}
	}
	return strings.Join(segments, "/")
}

// printable quotes a name that would not stay on its line, or would read as a quoted one.
func printable(name string) string {
	if strings.HasPrefix(name, `"`) || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(name)
	}
	return name
}
