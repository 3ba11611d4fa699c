package wire

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// heard is what a reader makes of a stream, an entry for each event.
func heard(in io.Reader, max int) (got []string, err error) {
	for s := newSSEReader(in, max); ; {
		e, err := s.next()
		switch {
		case err != nil:
			return got, err
		case e.comment:
			got = append(got, "#")
		case e.long:
			got = append(got, "long "+string(e.data))
		default:
			got = append(got, string(e.data))
		}
	}
}

func TestSSE(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		want   []string
	}{
		"events":                       {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"no space":                     {"data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		"of a type":                    {"event: message\nid: 1\nretry: 5\ndata: a\n\n", []string{"a"}},
		"of another type":              {"event: ping\ndata: {}\n\ndata: a\n\n", []string{"#", "a"}},
		"several lines":                {"data: {\ndata: }\n\n", []string{"{\n}"}},
		"an empty first line of data":  {"data:\ndata: a\n\n", []string{"\na"}},
		"CRLF":                         {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"a\nb", "c"}},
		"CR":                           {"data: a\r\rdata: b\r\r", []string{"a", "b"}},
		"mixed":                        {"data: a\r\n\ndata: b\n\r\n", []string{"a", "b"}},
		"comments":                     {": keepalive\n\n:\r\n\r\ndata: a\n\n", []string{"#", "#", "a"}},
		"a comment in an event":        {"data: a\n: x\ndata: b\n\n", []string{"a\nb"}},
		"a byte order mark":            {"\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"a"}},
		"an event without data":        {"id: 7\n\ndata:\n\ndata\n\ndata: a\n\n", []string{"#", "#", "a"}},
		"fields nobody knows":          {"Data: x\ndatum: y\ndata: a\n\n", []string{"a"}},
		"cut off":                      {"data: a\n\ndata: b\n", []string{"a"}},
		"too long":                     {"data: 123456789\n\ndata: a\n\n", []string{"long 12345678", "a"}},
		"as long as may be":            {"data: 12345678\n\n", []string{"12345678"}},
		"without a space":              {"data:12345678\n\ndata:123456789\n\n", []string{"12345678", "long 12345678"}},
		"too long together":            {"data: 12345\ndata: 6789\n\n", []string{"long 12345\n67"}},
		"an endless comment":           {":" + strings.Repeat("x", 200_000) + "\ndata: a\n\n", []string{"#", "a"}},
		"larger than what is buffered": {"data: " + strings.Repeat("1", 300_000) + "\n\n", []string{"long 11111111"}},
	} {
		for how, in := range map[string]io.Reader{
			"at once":    strings.NewReader(test.stream),
			"in dribs":   iotest.OneByteReader(strings.NewReader(test.stream)),
			"with error": iotest.DataErrReader(strings.NewReader(test.stream)),
		} {
			got, err := heard(in, 8)
			if !slices.Equal(got, test.want) || err != io.EOF {
				t.Errorf("%s %s: %q, %v, want %q", name, how, got, err, test.want)
			}
		}
	}
}

func TestSSEDoesNotWaitForALineFeed(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	go func() { _, _ = io.WriteString(out, "data: a\r\n\r") }()
	if e, err := newSSEReader(in, 8).next(); err != nil || string(e.data) != "a" {
		t.Errorf("%q, %v", e.data, err)
	}
}

// FuzzSSE compares with a reader that does as the standard says, slowly, with the whole stream in hand.
func FuzzSSE(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "data: a\r\rdata\r\n\r\n", ":\n\nevent: x\ndata:b\n\n", "\ufeffdata: a\n\n", "data:1\ndata\ndata: \n\n", "event:message\nevent\ndata: 1\n\n"} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream string, chunk uint8) {
		got, err := heard(&chunked{stream, int(chunk)%7 + 1}, 1<<20)
		if err != io.EOF {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(s string) bool { return s == "#" })
		if want := asTheStandardSays(stream); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", stream, got, want)
		}
		if short, _ := heard(strings.NewReader(stream), 4); slices.ContainsFunc(short, func(s string) bool { return len(strings.TrimPrefix(s, "long ")) > 4 && strings.HasPrefix(s, "long ") }) {
			t.Fatalf("%q: more than the limit: %q", stream, short)
		}
	})
}

// asTheStandardSays returns the data of the events of type "message", but for "#", which the test uses.
func asTheStandardSays(stream string) (events []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	data, kind := "", ""
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if s := strings.TrimSuffix(data, "\n"); s != "" && s != "#" && (kind == "" || kind == "message") {
				events = append(events, s)
			}
			data, kind = "", ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data += value + "\n"
		case "event":
			kind = value
		}
	}
	return events
}

// chunked is read a few bytes at a time.
type chunked struct {
	rest string
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.size, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}
