package resources

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A character may begin anywhere in a word, and end in the next word or the next block.
func FuzzTextCheck(f *testing.F) {
	f.Add([]byte("plain"), uint8(0))
	f.Add([]byte("x€\U0001F600é\xe2\x82\xff\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf"), uint8(0))
	f.Add([]byte("a€\xe2\x82"), uint8(2))
	f.Add([]byte("\ufffd\xf0\x9f\x98"), uint8(1))
	f.Add([]byte("a word and more words of ASCII, then caf\xc3\xa9 and \xe2\x82\xac; \xe2 is none of it"), uint8(40))
	f.Add([]byte("\xc3eight of\xa9"), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, block uint8) {
		for at := range 8 { // as it lies in the words
			text := append(slices.Repeat([]byte("x"), at), data...)
			if got, want := isText(text), utf8.Valid(text); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
		c := newTextCheck()
		bad := false
		for part := range slices.Chunk(data, int(block)+1) {
			c.add(part)
			bad = bad || c.bad()
		}
		if bad && c.good() {
			t.Errorf("%q in blocks of %d: no text, and then it is", data, int(block)+1)
		}
		if want := utf8.Valid(data); c.good() != want {
			t.Errorf("%q in blocks of %d: %v, want %v", data, int(block)+1, c.good(), want)
		}
	})
}

// All that four bytes can be, as far as a byte may make a difference.
func TestTextIsWhatUnicodeSays(t *testing.T) {
	var edges []byte // the first and the last byte of each kind
	for _, c := range []byte{0x80, 0x90, 0xa0, 0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xee, 0xf0, 0xf1, 0xf4, 0xf5, 0xf8, 0x00} {
		edges = append(edges, c-1, c)
	}
	wrong := 0
	check := func(text []byte) {
		if got, want := isText(text), utf8.Valid(text); got != want && wrong < 10 {
			wrong++
			t.Errorf("% x: %v, want %v", text, got, want)
		}
	}
	for first := range 0x100 {
		check([]byte{byte(first)})
		for second := range 0x100 {
			check([]byte{byte(first), byte(second)})
			for _, third := range edges {
				check([]byte{byte(first), byte(second), third})
				for _, fourth := range edges {
					check([]byte{'a', 'b', 'c', 'd', 'e', byte(first), byte(second), third, fourth}) // in two words
				}
			}
		}
	}
}

func BenchmarkTextCheck(b *testing.B) {
	for name, line := range map[string]string{
		"ascii":    "a line of a program, with a few words in it\n",
		"letters":  "naïve café prices are in €, and a page is copied line after line\n",
		"japanese": "読者のためのページの写し、一行ずつ。\n",
	} {
		b.Run(name, func(b *testing.B) {
			block := []byte(strings.Repeat(line, bodyBlock/len(line)+1))[:bodyBlock]
			b.SetBytes(bodyBlock)
			b.ReportAllocs()
			for b.Loop() {
				check := newTextCheck()
				if check.add(block); check.bad() {
					b.Fatal("it is text")
				}
			}
		})
	}
}
