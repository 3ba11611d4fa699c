package jsonrpc

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep arrays and objects may nest, as in encoding/json: the scanner recurses.
const maxDepth = 10_000

// Every message passes through the functions below, so they read each byte once: json.Valid and a json.Decoder take
// six times as long. Each returns the index after what begins at b[i], or -1 if that is not valid JSON (RFC 8259). Given
// the -1 of another, it returns -1.

// scanValue scans a value that is nested in depth others.
func scanValue(b []byte, i, depth int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '{', '[':
		return scanNested(b, i, depth)
	case '"':
		return scanString(b, i)
	case 't':
		return scanLiteral(b, i, "true")
	case 'f':
		return scanLiteral(b, i, "false")
	case 'n':
		return scanLiteral(b, i, "null")
	default:
		return scanNumber(b, i)
	}
}

// scanNested scans an array or an object.
func scanNested(b []byte, i, depth int) int {
	if depth >= maxDepth {
		return -1
	}
	object := b[i] == '{'
	end := b[i] + 2 // in ASCII, '}' follows '{' and ']' follows '[' at this distance
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == end {
		return i + 1
	}
	for {
		if object {
			i = scanColon(b, scanString(b, i))
		}
		if i = scanValue(b, i, depth+1); i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = skipSpace(b, i+1)
		case i < len(b) && b[i] == end:
			return i + 1
		default:
			return -1
		}
	}
}

// scanColon scans the colon after a name, up to the value.
func scanColon(b []byte, i int) int {
	if i < 0 {
		return -1
	}
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ':' {
		return -1
	}
	return skipSpace(b, i+1)
}

// scanComma scans what follows a member of an object: a comma, up to the next member, or up to whatever else there is.
func scanComma(b []byte, i int) (next int, more bool) {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ',' {
		return skipSpace(b, i+1), true
	}
	return i, false
}

func scanString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i = skipPlain(b, i+1); i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i = scanEscape(b, i); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// skipPlain skips what ends no string and begins no escape, eight bytes at a time.
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if marks := escaped(binary.LittleEndian.Uint64(b[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	return i
}

// scanEscape returns the index of the escape's last byte.
func scanEscape(b []byte, i int) int {
	i++
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i
	case 'u':
		if i+4 >= len(b) {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return -1
			}
		}
		return i + 4
	}
	return -1
}

func scanNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = scanDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

// scanDigits scans one digit or more.
func scanDigits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func scanLiteral(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}
