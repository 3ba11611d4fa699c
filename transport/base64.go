package transport

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// appendBase64 is base64.StdEncoding.AppendEncode, which looks up each letter by itself: two at a time take two thirds of that.
func appendBase64(dst, src []byte) []byte {
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(src)))
	n, out := len(dst), dst[:cap(dst)]
	for len(src) >= 8 && len(out)-n >= 8 { // of the eight bytes that are loaded six are encoded
		w := binary.BigEndian.Uint64(src)
		binary.LittleEndian.PutUint64(out[n:], uint64(base64Pairs[w>>52])|uint64(base64Pairs[w>>40&0xfff])<<16|
			uint64(base64Pairs[w>>28&0xfff])<<32|uint64(base64Pairs[w>>16&0xfff])<<48)
		src = src[6:]
		n += 8
	}
	return base64.StdEncoding.AppendEncode(out[:n], src)
}

// base64Pairs are the two letters that stand for twelve bits, the first one in the lower byte.
var base64Pairs = func() (t [1 << 12]uint16) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for bits := range t {
		t[bits] = uint16(letters[bits>>6]) | uint16(letters[bits&63])<<8
	}
	return t
}()
