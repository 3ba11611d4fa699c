package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote decodes a scanned JSON string. Two results are equal if and only if the strings are: a surrogate that is not one
// of a pair becomes the three bytes that UTF-8 would have for it, whereas encoding/json makes all of them U+FFFD.
func unquote(quoted []byte) string {
	s := quoted[1 : len(quoted)-1]
	i := bytes.IndexByte(s, '\\')
	if i < 0 {
		return string(s)
	}
	dst := make([]byte, 0, len(s))
	for ; i >= 0; i = bytes.IndexByte(s, '\\') {
		dst = append(dst, s[:i]...)
		s = s[i+1:]
		if s[0] == 'u' {
			dst, s = unquoteUnit(dst, s[1:])
			continue
		}
		dst = append(dst, unescaped(s[0]))
		s = s[1:]
	}
	return string(append(dst, s...))
}

// Text decodes a scanned value if it is there and a string, as encoding/json does. Most have no escape.
func Text(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// IsText reports whether a scanned JSON string is text. One with an escape that is half of a character is none, and
// encoding/json makes U+FFFD of that.
func IsText(quoted []byte) bool {
	return bytes.IndexByte(quoted, '\\') < 0 || utf8.ValidString(unquote(quoted))
}

// unescaped is what stands after a backslash for.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unquoteUnit decodes the digits of a \u escape at the start of s, with those of a second one if the two are a pair. It
// returns the rest of s.
func unquoteUnit(dst, s []byte) (_, rest []byte) {
	r, s := rune(codeUnit(s)), s[4:]
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), s
	}
	if bytes.HasPrefix(s, []byte(`\u`)) {
		if pair := utf16.DecodeRune(r, rune(codeUnit(s[2:]))); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), s[6:]
		}
	}
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), s
}

// codeUnit is the value of four hexadecimal digits.
func codeUnit(digits []byte) uint16 {
	var unit [2]byte
	if _, err := hex.Decode(unit[:], digits[:4]); err != nil {
		panic("jsonrpc: a scanned escape has no four digits: " + err.Error())
	}
	return binary.BigEndian.Uint16(unit[:])
}
