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

// encodeNotification makes the message of any notification, stamped with the id of its subscription.
func encodeNotification(id, method string, params any) ([]byte, error) {
	if method == "" || !utf8.ValidString(method) {
		return nil, errors.New("a notification needs a method, a string of UTF-8")
	}
	members, err := membersOf(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	meta := map[string]json.RawMessage{}
	if raw, ok := members["_meta"]; ok {
		if meta, err = jsonrpc.Members(raw); err != nil {
			return nil, fmt.Errorf("params._meta of %s: %w", method, err)
		}
	}
	dst := append([]byte(nil), `{"jsonrpc":"2.0","method":`...)
	dst = jsonrpc.AppendString(dst, method)
	dst = append(dst, `,"params":{`+subscriptionID...)
	dst = append(dst, id...)
	delete(meta, subscriptionKey)
	dst = appendMembers(dst, meta)
	dst = append(dst, '}')
	delete(members, "_meta")
	dst = appendMembers(dst, members)
	return append(dst, `}}`...), nil
}

// membersOf encodes params, compact, and splits them.
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
	raw := bytes.TrimSpace(b.Bytes())
	if string(raw) == "null" {
		return nil, nil
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("not valid UTF-8")
	}
	return jsonrpc.Members(raw)
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
