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
	raw, members, err := encodeParams(params)
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
	n.frame, err = appendNotification(nil, id, method, raw, members)
	return n, err
}

// appendNotification encodes a notification whose params are raw, a compact object of the members given, or nothing.
func appendNotification(dst []byte, id, method string, raw []byte, members map[string]json.RawMessage) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = jsonrpc.AppendString(dst, method)
	dst = append(dst, `,"params":{`+subscriptionID...)
	dst = append(dst, id...)
	if rawMeta, ok := members["_meta"]; ok {
		meta, err := membersOf(rawMeta)
		if err != nil {
			return nil, fmt.Errorf("params._meta of %s: %w", method, err)
		}
		delete(meta, subscriptionKey)
		delete(members, "_meta")
		dst = appendMembers(dst, meta)
		dst = appendMembers(append(dst, '}'), members)
		return append(dst, `}}`...), nil
	}
	dst = append(dst, '}')
	if len(members) > 0 { // in the order in which they came
		dst = append(dst, ',')
		dst = append(dst, raw[1:len(raw)-1]...)
	}
	return append(dst, `}}`...), nil
}

// encodeParams encodes params, compact, and splits them. What is null has no members.
func encodeParams(params any) (raw []byte, members map[string]json.RawMessage, err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(params); err != nil {
		return nil, nil, err
	}
	raw = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if string(raw) == "null" {
		return nil, nil, nil
	}
	if !utf8.Valid(raw) {
		return nil, nil, errors.New("not valid UTF-8")
	}
	members, err = membersOf(raw)
	return raw, members, err
}

// membersOf splits an object whose names are Unicode, so that they can be encoded again.
func membersOf(raw []byte) (map[string]json.RawMessage, error) {
	members, err := jsonrpc.Members(raw)
	if err != nil {
		return nil, err
	}
	for name := range members {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name %q is not Unicode", jsonrpc.Clip(name))
		}
	}
	return members, nil
}

// appendMembers appends further members of an object, sorted by name, each with a comma before it.
func appendMembers(dst []byte, members map[string]json.RawMessage) []byte {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		dst = append(dst, ',')
		dst = jsonrpc.AppendString(dst, name)
		dst = append(dst, ':')
		dst = append(dst, members[name]...)
	}
	return dst
}
