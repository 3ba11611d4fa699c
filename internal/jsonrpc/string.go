package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
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
	return append(AppendEscaped(append(dst, '"'), []byte(s)), '"')
}

// isSimple reports whether s is ASCII that needs no escape, as nearly all is that goes out beside contents.
func isSimple(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if escapes[s[i]].n > 0 || s[i] >= utf8.RuneSelf {
				return false
			}
		}
		return true
	}
	var bad uint64
	for i := 0; i+8 < len(s); i += 8 {
		bad |= notSimple(word(s[i:]))
	}
	bad |= notSimple(word(s[len(s)-8:])) // which may begin in the one before
	return bad&tops == 0
}

// word returns the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// notSimple marks the first byte of a word that is not simple by its top bit. Bytes after that may be marked as well, since
// its borrow passes into the next: where they begin need not be known.
func notSimple(w uint64) uint64 {
	return w | (w - ones*' ') | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)
}

// AppendEscaped appends what is between the quotes of s as a JSON string, escaped as by [AppendString]. s is known to be
// valid UTF-8, or a block of such a text.
func AppendEscaped(dst, s []byte) []byte {
	i := 0
	for len(s)-i >= words {
		dst = slices.Grow(dst, len(s)-i)
		dst, i = appendWords(dst, s, i)
	}
	for _, c := range s[i:] {
		if e := &escapes[c]; e.n > 0 {
			dst = append(dst, e.text[:e.n]...)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// words is the room that appendWords needs: for two words, and behind them for an escape that is put there as a word.
const words = 32

// appendWords appends s from i on as [AppendEscaped] does, as far as there are two words of it and room in dst. It copies both
// before it looks for what is to be escaped, and goes on behind that: most of a text is copied once.
func appendWords(dst, s []byte, i int) ([]byte, int) {
	n, out := len(dst), dst[:cap(dst)]
	for i+16 <= len(s) && n+words <= len(out) {
		from, to := s[i:i+16:i+16], out[n:n+words:n+words]
		first, second := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
		binary.LittleEndian.PutUint64(to, first)
		binary.LittleEndian.PutUint64(to[8:], second)
		here, there := escaped(first), escaped(second)
		if here|there == 0 {
			i, n = i+16, n+16
			continue
		}
		k := bits.TrailingZeros64(here) / 8
		if here == 0 {
			k = 8 + bits.TrailingZeros64(there)/8
		}
		i, n = i+k, n+k
		for i < len(s) && n+8 <= len(out) { // they come in rows: the end of a line and how the next one is indented
			e := &escapes[s[i]]
			if e.n == 0 {
				break
			}
			copy(out[n:n+8], e.text[:])
			i, n = i+1, n+int(e.n)
		}
	}
	return out[:n], i
}

const (
	ones = 0x0101010101010101
	lows = 0x7f7f7f7f7f7f7f7f
	tops = 0x8080808080808080
)

// escaped marks the bytes of a word that are to be escaped by their top bits. With one bit turned a quote comes next to the control
// characters, so that one comparison finds both. No sum passes from one byte into the next.
func escaped(w uint64) uint64 {
	const turned = 0x02
	low := (w ^ turned*ones) & lows
	return ^((low+(0x80-('"'^turned)-1)*ones)&((low^('\\'^turned)*ones)+lows) | w) & tops
}

// EscapedLen is the number of bytes that [AppendEscaped] appends.
func EscapedLen(s []byte) int {
	count := func(c byte) int { return bytes.Count(s, []byte{c}) } // faster than any loop here
	long := controls(s)
	n := len(s) + count('"') + count('\\') + long
	for _, short := range []byte("\n\t\r") {
		if long > 0 {
			long -= count(short)
		}
	}
	return n + (len(`\u0000`)-len(`\n`))*long
}

// controls counts the control characters that are to be escaped.
func controls(s []byte) (n int) {
	mark := func(w uint64) uint64 { return ^((w&lows + (0x80-' ')*ones) | w) & tops }
	for ; len(s) >= 32; s = s[32:] {
		n += bits.OnesCount64(mark(binary.LittleEndian.Uint64(s)) | mark(binary.LittleEndian.Uint64(s[8:]))>>1 |
			mark(binary.LittleEndian.Uint64(s[16:]))>>2 | mark(binary.LittleEndian.Uint64(s[24:]))>>3)
	}
	for _, c := range s {
		if c < ' ' {
			n++
		}
	}
	return n
}

// escapes holds what each byte is replaced with, of length 0 if it stays.
var escapes = func() (t [256]struct {
	text [8]byte
	n    uint8
}) {
	for c := range byte(' ') {
		const hex = "0123456789abcdef"
		t[c].n = uint8(copy(t[c].text[:], `\u00`+hex[c>>4:c>>4+1]+hex[c&15:c&15+1]))
	}
	for c, text := range map[byte]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`} {
		t[c].n = uint8(copy(t[c].text[:], text))
	}
	return t
}()

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
