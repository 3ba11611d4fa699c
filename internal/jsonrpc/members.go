package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

var errSyntax = errors.New("not valid JSON")

// Members splits a JSON object into its members without decoding the values, which alias raw. Unlike encoding/json it
// does not fold case, and it refuses a name that occurs twice: both let two readers of one message disagree.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	m, err := members(raw)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// members is Members, but where names occur twice it also returns what it read, with nil for those. The error is
// errSyntax if and only if raw is not valid JSON.
func members(raw []byte) (map[string]json.RawMessage, error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		if end := scanValue(raw, i, 0); end < 0 || skipSpace(raw, end) != len(raw) {
			return nil, errSyntax
		}
		return nil, errors.New("not an object")
	}
	m := map[string]json.RawMessage{}
	var twice error
	i = skipSpace(raw, i+1)
	for more := i < len(raw) && raw[i] != '}'; more; {
		nameEnd := scanString(raw, i)
		start := scanColon(raw, nameEnd)
		end := scanValue(raw, start, 1)
		if end < 0 {
			return nil, errSyntax
		}
		name := unquote(raw[i:nameEnd])
		if _, seen := m[name]; seen {
			m[name] = nil
			twice = fmt.Errorf("%q occurs twice", Clip(name))
		} else {
			m[name] = raw[start:end:end]
		}
		i = skipSpace(raw, end)
		if more = i < len(raw) && raw[i] == ','; more {
			i = skipSpace(raw, i+1)
		}
	}
	if i >= len(raw) || raw[i] != '}' || skipSpace(raw, i+1) != len(raw) {
		return nil, errSyntax
	}
	return m, twice
}
