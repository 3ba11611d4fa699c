package jsonrpc

import (
	"encoding/json"
	"strconv"
)

// MaxIDBytes is the length in bytes, as spelled on the wire, above which an id is refused: an id is repeated in every
// notification of a subscription, so its length multiplies.
const MaxIDBytes = 256

// ID is a request id exactly as the client spelled it, so that it can be echoed digit for digit. The zero ID is absent.
type ID struct {
	raw string
	key string
}

// ParseID accepts what MCP accepts as a request id (2026-07-28, basic/index, "Requests"): a JSON string or an
// integer without fraction or exponent, at most [MaxIDBytes] long. raw must be one valid JSON value.
func ParseID(raw []byte) (ID, bool) {
	if len(raw) == 0 || len(raw) > MaxIDBytes {
		return ID{}, false
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ID{}, false
		}
		return ID{raw: string(raw), key: strconv.Quote(s)}, true
	}
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return ID{}, false
		}
	}
	if len(digits) == 0 {
		return ID{}, false
	}
	return ID{raw: string(raw), key: string(raw)}, true
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

// Key identifies the request: equal for two spellings of one string, different for 1 and "1".
func (id ID) Key() string { return id.key }
