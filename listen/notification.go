package listen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// notification is a message in the words of a handler.
type notification struct {
	frame []byte
	kind  kind   // the change that the specification calls by this method, or posted
	uri   string // of updated
}

// newNotification makes the message, stamped with the id of its subscription.
func newNotification(id, method string, params any) (notification, error) {
	n := notification{kind: posted}
	switch method {
	case "":
		return n, errors.New("a notification needs a method")
	case "notifications/progress", "notifications/message", "notifications/cancelled", methods[acknowledged]:
		// The first two are "not delivered on the listen stream" (basic/transports/streamable-http, "Receiving Messages").
		return n, fmt.Errorf("%s: %w", method, ErrNotHere)
	}
	if !utf8.ValidString(method) {
		return n, errors.New("the method of a notification must be valid UTF-8")
	}
	members, err := membersOf(params)
	if err != nil {
		return n, fmt.Errorf("params of %s: %w", method, err)
	}
	if k := slices.Index(methods[:kinds], method); k >= 0 {
		n.kind = kind(k)
	}
	if n.kind == updated {
		if !begins(members["uri"], '"') || json.Unmarshal(members["uri"], &n.uri) != nil {
			return n, fmt.Errorf("params of %s: uri must be a string", method)
		}
	}
	n.frame, err = appendNotification(nil, id, method, members)
	return n, err
}

// appendNotification encodes a notification that has the members given. They are compact, and not kept.
func appendNotification(dst []byte, id, method string, members map[string]json.RawMessage) ([]byte, error) {
	var meta map[string]json.RawMessage
	if raw, ok := members["_meta"]; ok {
		var err error
		if meta, err = jsonrpc.Members(raw); err != nil {
			return nil, fmt.Errorf("params._meta of %s: %w", method, err)
		}
	}
	delete(meta, subscriptionKey)
	delete(members, "_meta")
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = jsonrpc.AppendString(dst, method)
	dst = append(dst, `,"params":{`+subscriptionID...)
	dst = append(dst, id...)
	dst = appendMembers(dst, meta)
	dst = append(dst, '}')
	dst = appendMembers(dst, members)
	return append(dst, `}}`...), nil
}

// membersOf encodes params, compact, and splits the object.
func membersOf(params any) (map[string]json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(params); err != nil {
		return nil, err
	}
	if !utf8.Valid(b.Bytes()) {
		return nil, errors.New("not valid UTF-8")
	}
	if string(b.Bytes()) == "null\n" {
		return nil, nil
	}
	return jsonrpc.Members(b.Bytes())
}

// appendMembers appends further members of an object, sorted by name.
func appendMembers(dst []byte, members map[string]json.RawMessage) []byte {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		dst = append(dst, ',')
		dst = jsonrpc.AppendString(dst, name)
		dst = append(dst, ':')
		dst = append(dst, members[name]...)
	}
	return dst
}
