package verify

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// key identifies a request on a connection: two spellings of one id have the same key, 1 and "1" have not.
type key struct {
	conn int
	id   string
}

func keyOf(conn int, id json.RawMessage) key { return key{conn, identity(id)} }

// identity is one spelling of an id: of strings the content, of integers the digits, of anything else what it is.
func identity(id json.RawMessage) string {
	id = bytes.TrimSpace(id)
	if len(id) > 0 && id[0] == '"' {
		var text string
		if json.Unmarshal(id, &text) == nil {
			return `"` + text
		}
	}
	// 1.0 is the number 1, however strange a spelling of it; an exponent would be one that the server has rounded.
	if number, _, _ := strings.Cut(string(id), "."); len(number) <= 64 && strings.TrimRight(string(id[len(number):]), "0") == "." {
		id = json.RawMessage(number)
	}
	if n, ok := new(big.Int).SetString(string(id), 10); ok && len(id) <= 64 {
		return n.String()
	}
	return string(id)
}

// looksAlike reports whether an id is another one that has changed its type or lost digits.
func looksAlike(a, b json.RawMessage) bool {
	plain := func(id json.RawMessage) string { return strings.TrimPrefix(identity(id), `"`) }
	if plain(a) == plain(b) {
		return true
	}
	x, errX := strconv.ParseFloat(plain(a), 64)
	y, errY := strconv.ParseFloat(plain(b), 64)
	return errX == nil && errY == nil && x == y
}
