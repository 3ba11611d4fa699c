package jsonrpc

import (
	"strings"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. It escapes only what RFC 8259 demands, so that "<" stays "<"; bytes that
// are not valid UTF-8 become U+FFFD, as in encoding/json.
func AppendString(dst []byte, s string) []byte {
	if isSimple(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return append(appendEscaped(append(dst, '"'), s), '"')
}

// AppendEscaped appends what is between the quotes of s as a JSON string, escaped as by [AppendString]. s is known to be
// valid UTF-8, or a block of such a text.
func AppendEscaped(dst, s []byte) []byte { return appendEscaped(dst, s) }

// EscapedLen is the number of bytes that [AppendEscaped] appends.
func EscapedLen(s []byte) int {
	n := len(s)
	for {
		s = s[plain(s):]
		i := 0
		for ; i < len(s) && escapes[s[i]] > 0; i++ {
			n += int(escapes[s[i]])
		}
		if i == 0 {
			return n
		}
		s = s[i:]
	}
}

// escapes is how many bytes longer a byte becomes when it is escaped.
var escapes = func() (t [256]uint8) {
	for c := range t {
		if plain([]byte{byte(c)}) == 0 {
			t[c] = uint8(len(appendEscape(nil, byte(c))) - 1)
		}
	}
	return t
}()

func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	for {
		n := plain(s)
		dst = append(dst, s[:n]...)
		s = s[n:]
		i := 0
		for ; i < len(s) && escapes[s[i]] > 0; i++ {
			dst = appendEscape(dst, s[i])
		}
		if i == 0 {
			return dst
		}
		s = s[i:]
	}
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// isSimple reports whether s is ASCII that needs no escape, as nearly all is that goes out beside contents.
func isSimple(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if w := word(s); (escaped(w)|w)&tops != 0 {
			return false
		}
	}
	for i := range len(s) {
		if escapes[s[i]] > 0 || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain returns how many bytes at the start of s need no escape. It looks at eight at a time.
func plain[T string | []byte](s T) int {
	i := 0
	for i+8 <= len(s) && escaped(word(s[i:]))&tops == 0 {
		i += 8
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// word is the first eight bytes of s.
func word[T string | []byte](s T) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// escaped has a top bit set if a byte of w is to be escaped: in each term that of a byte below 0x80 is set if it is below a
// space, a quote or a backslash. A borrow can only set further bits above a byte that is to be escaped.
func escaped(w uint64) uint64 {
	quote, backslash := w^('"'*ones), w^('\\'*ones)
	return (w-' '*ones)&^w | (quote-ones)&^quote | (backslash-ones)&^backslash
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Clip shortens what a client sent for the use in an error.
func Clip(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.Clone(s[:cut]) + "…"
}
