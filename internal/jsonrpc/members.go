package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Members splits a JSON object into its members without decoding the values, which alias raw. Unlike encoding/json it
// does not fold case, and it refuses a name that occurs twice: both let two readers of one message disagree.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("not an object")
	}
	m := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string)
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("%q occurs twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		m[name] = value
	}
	return m, nil
}
