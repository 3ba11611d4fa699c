package jsonrpc

import (
	"encoding/json"
	"unicode/utf8"
)

// MaxIDBytes is the length in bytes, as spelled on the wire, above which an id is refused: an id is repeated in every
// notification of a subscription, so its length multiplies.
const MaxIDBytes = 256

// ID is a request id exactly as the client spelled it, so that it can be echoed digit for digit. The zero ID is absent.
type ID struct {
	raw string
	key string
}

// ParseID accepts what MCP accepts as a request id (2026-07-28, basic/index, "Requests"): a JSON string in UTF-8 or a JSON
// number without fraction or exponent, at most [MaxIDBytes] long, without white space around it.
func ParseID(raw []byte) (ID, bool) {
	if len(raw) == 0 || len(raw) > MaxIDBytes || scanValue(raw, 0, 0) != len(raw) {
		return ID{}, false
	}
	if raw[0] == '"' {
		if !utf8.Valid(raw) {
			return ID{}, false
		}
		return ID{raw: string(raw), key: `"` + unquote(raw)}, true
	}
	for _, c := range raw {
		if c != '-' && (c < '0' || c > '9') {
			return ID{}, false
		}
	}
	id := string(raw)
	return ID{raw: id, key: id}, true
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Raw is the id as it goes on the wire, nil for the zero ID.
func (id ID) Raw() json.RawMessage {
	if id.raw == "" {
		return nil
	}
	return json.RawMessage(id.raw)
}

// Key identifies the request: equal for two spellings of one string, different for two strings, and for 1 and "1".
func (id ID) Key() string { return id.key }
