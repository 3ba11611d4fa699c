package transport

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"
)

func FuzzAppendBase64(f *testing.F) {
	f.Add([]byte(nil), uint8(0))
	f.Add([]byte("\x00\xff\x10\x83 some bytes that are more than one turn takes \xfb\xf0"), uint8(3))
	f.Fuzz(func(t *testing.T, src []byte, room uint8) {
		want := base64.StdEncoding.AppendEncode([]byte("before"), src)
		for _, dst := range [][]byte{nil, make([]byte, 0, int(room))} {
			dst = append(dst, "before"...)
			if got := appendBase64(dst, src); !bytes.Equal(got, want) {
				t.Errorf("%q becomes %q, want %q", src, got, want)
			}
		}
	})
}

// What begins with a block, whose length is a multiple of three, is one encoding.
func TestBase64OfBlocks(t *testing.T) {
	src := make([]byte, 10_000)
	for i := range src {
		src[i] = byte(rand.Int())
	}
	for _, size := range []int{3, 9, 300, portion} {
		var got []byte
		for block := range slices.Chunk(src, size) {
			got = appendBase64(got, block)
		}
		if want := base64.StdEncoding.AppendEncode(nil, src); !bytes.Equal(got, want) {
			t.Errorf("in blocks of %d it is another", size)
		}
	}
	exact := make([]byte, 0, base64.StdEncoding.EncodedLen(len(src)))
	if n := testing.AllocsPerRun(10, func() { appendBase64(exact, src) }); n > 0 {
		t.Errorf("%v allocations where there is room", n)
	}
}

func BenchmarkAppendBase64(b *testing.B) {
	src := make([]byte, portion)
	var dst []byte
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		dst = appendBase64(dst[:0], src)
	}
}
