package transport

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// pieces hands out a text in pieces of random sizes, now and then an empty one.
type pieces struct {
	rest []byte
	rng  *rand.Rand
}

func (p *pieces) Read(buf []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(buf[:min(len(buf), p.rng.IntN(40))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// cut is what a lineReader is to return: lines, "too long" for one above the limit.
func cut(text string, limit int) (want []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case len(line) > limit:
			want = append(want, "too long "+line[:limit])
		case strings.Trim(line, " \t\r") != "":
			want = append(want, line)
		}
	}
	return want
}

func readLines(t *testing.T, in io.Reader, limit int) (got []string) {
	t.Helper()
	l := newLineReader(in, limit)
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, errLongLine):
			got = append(got, "too long "+string(line))
		case err == io.EOF:
			if _, err := l.next(); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
			return got
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, text := range []string{
		"", "\n", "\r\n", "a", "a\n", "a\r\nb\r\n\r\n c \n\n", "12345678\n123456789\n1234567\r\n12345678\r\n123456789\r\n", "123456789", "12345678\r", "\r\r\n", "a\rb\n",
	} {
		f.Add(text, uint16(8), uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, limit uint16, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		max := 1 + int(limit)
		// A carriage return before the end of input belongs to an end of line that was cut off; both readings do.
		got := readLines(t, &pieces{[]byte(text), rng}, max)
		want := cut(text, max)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("got %q, want %q", got[i], want[i])
			}
		}
	})
}

func TestLinesOfEverySize(t *testing.T) {
	const limit = 3 * keptBuffer
	var text strings.Builder
	for _, n := range []int{keptBuffer - 1, keptBuffer, keptBuffer + 1, limit - 1, limit, limit + 1, limit + 2, 10 * limit, 1, 2 * keptBuffer, 5} {
		for _, end := range []string{"\n", "\r\n"} {
			text.WriteString(strings.Repeat("x", n) + end)
		}
	}
	want := cut(text.String(), limit)
	for name, in := range map[string]io.Reader{
		"whole":  strings.NewReader(text.String()),
		"halves": iotest.HalfReader(strings.NewReader(text.String())),
		"pieces": &pieces{[]byte(text.String()), rand.New(rand.NewPCG(1, 2))},
		"error":  iotest.DataErrReader(strings.NewReader(text.String())),
	} {
		got := readLines(t, in, limit)
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines, want %d", name, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: line %d has %d bytes, want %d", name, i, len(got[i]), len(want[i]))
			}
		}
	}
}

func TestInputWithoutProgress(t *testing.T) {
	l := newLineReader(emptyReader{}, 10)
	if _, err := l.next(); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestBufferShrinksAfterALongLine(t *testing.T) {
	l := newLineReader(strings.NewReader(strings.Repeat("x", 1<<20)+"\n"+strings.Repeat("y", 10)+"\nz\n"), 4<<20)
	for range 3 {
		if _, err := l.next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.next(); err != io.EOF || len(l.buf) != keptBuffer {
		t.Errorf("%v, %d bytes", err, len(l.buf))
	}
}

func TestLeadingID(t *testing.T) {
	for beginning, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"x`:              "7",
		`{"jsonrpc":"2.0","params":{"id":3},"id":"x","par`: `"x"`,
		`{"jsonrpc":"2.0","id":1.5,"method":"x`:            "",
		`{"jsonrpc":"2.0","id":123`:                        "",
		`{"params":{"uri":"xxxx`:                           "",
		`[{"id":1}`:                                        "",
		`xxx`:                                              "",
		``:                                                 "",
	} {
		if id := leadingID([]byte(beginning)); string(id.Raw()) != want {
			t.Errorf("%s: got %q, want %q", beginning, id.Raw(), want)
		}
	}
}
