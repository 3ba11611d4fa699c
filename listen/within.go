package listen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// within says what of f is not in asked, whose URIs differ: "The server MUST NOT send notification types the client has
// not explicitly requested". Nil: nothing. A URI counts in the client's spelling, and once.
func (f *Filter) within(asked Filter) error {
	wanted := asked.lists()
	for k, on := range f.lists() {
		if on && !wanted[k] {
			return fmt.Errorf("%s: %w", methods[k], ErrNotAsked)
		}
	}
	for name := range f.Extensions {
		if _, ok := asked.Extensions[name]; !ok {
			return fmt.Errorf("notifications.%s: %w", jsonrpc.Clip(name), ErrNotAsked)
		}
	}
	return urisWithin(f.ResourceSubscriptions, asked.ResourceSubscriptions)
}

// urisWithin goes through both lists once if their order is the same, as it usually is.
func urisWithin(uris, asked []string) error {
	i := 0
	for _, uri := range asked {
		if i < len(uris) && uris[i] == uri {
			i++
		}
	}
	if i == len(uris) {
		return nil
	}
	left := make(map[string]bool, len(asked))
	for _, uri := range asked {
		left[uri] = true
	}
	for _, uri := range uris {
		fresh, known := left[uri]
		if !known {
			return fmt.Errorf("notifications.resourceSubscriptions, %q: %w", jsonrpc.Clip(uri), ErrNotAsked)
		}
		if !fresh {
			return fmt.Errorf("notifications.resourceSubscriptions names %q twice", jsonrpc.Clip(uri))
		}
		left[uri] = false
	}
	return nil
}

// keysFor says which of the URIs has no key, or which key belongs to none of them. It goes through both once if their order
// is the same.
func keysFor(uris []string, subs []Sub) error {
	i := 0
	for _, uri := range uris {
		for i < len(subs) && subs[i].URI == uri {
			i++
		}
		if i == 0 || subs[i-1].URI != uri {
			return keysInAnyOrder(uris, subs)
		}
	}
	if i < len(subs) {
		return keysInAnyOrder(uris, subs)
	}
	return nil
}

func keysInAnyOrder(uris []string, subs []Sub) error {
	has := make(map[string]bool, len(uris))
	for _, uri := range uris {
		has[uri] = false
	}
	for _, sub := range subs {
		if _, known := has[sub.URI]; !known {
			return fmt.Errorf("%q has a key and is not honoured", jsonrpc.Clip(sub.URI))
		}
		has[sub.URI] = true
	}
	for _, uri := range uris {
		if !has[uri] {
			return fmt.Errorf("%q is honoured and has no key", jsonrpc.Clip(uri))
		}
	}
	return nil
}

// compact returns f with extensions that fit on a line. The error names the one that is no JSON.
func (f *Filter) compact() (Filter, error) {
	c := *f
	if len(f.Extensions) == 0 {
		return c, nil
	}
	c.Extensions = make(map[string]json.RawMessage, len(f.Extensions))
	for name, raw := range f.Extensions {
		var b bytes.Buffer
		err := json.Compact(&b, raw)
		switch {
		case err != nil:
		case !utf8.Valid(raw) || !utf8.ValidString(name):
			err = errors.New("not valid UTF-8")
		case isSpecified(name):
			err = errors.New("is no extension")
		}
		if err != nil {
			return Filter{}, fmt.Errorf("notifications.%s: %w", jsonrpc.Clip(name), err)
		}
		c.Extensions[name] = b.Bytes()
	}
	return c, nil
}
