package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

const kib = "test://top/1k"

// startBench serves a file of 1 KiB over a pipe.
func startBench(b *testing.B, in io.Reader, out io.Writer) (stop func()) {
	cat := newFakeCatalogue()
	cat.contents[kib] = mcp.Contents{MIMEType: "text/markdown", Data: []byte(strings.Repeat("A line of text, as they are.\n\n# T\n", 31)), Text: true}
	s := NewServer(cat, listen.NewHub(nil), nil)
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(context.Background(), in, out) }()
	return func() {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

func BenchmarkReadRoundTripInMemory(b *testing.B) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	stop := startBench(b, inR, outW)
	roundTrips(b, inW, outR)
	inW.Close()
	stop()
}

func BenchmarkReadRoundTripPipe(b *testing.B) {
	inR, inW, outR, outW := osPipes(b)
	stop := startBench(b, inR, outW)
	roundTrips(b, inW, outR)
	inW.Close()
	stop()
}

func roundTrips(b *testing.B, in io.Writer, out io.Reader) {
	line := []byte(read("1", kib) + "\n")
	answers := bufio.NewReaderSize(out, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := answers.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadPipelinedInMemory(b *testing.B) {
	inR, inW := io.Pipe()
	var out counter
	stop := startBench(b, inR, &out)
	pipelined(b, inW, func(int) { inW.Close(); stop() })
	if int(out.lines) != b.N {
		b.Errorf("%d answers to %d requests", out.lines, b.N)
	}
}

func BenchmarkReadPipelinedPipe(b *testing.B) {
	inR, inW, outR, outW := osPipes(b)
	stop := startBench(b, inR, outW)
	got := make(chan int64)
	go func() {
		var out counter
		io.Copy(&out, outR)
		got <- out.lines
	}()
	pipelined(b, inW, func(n int) {
		inW.Close()
		stop()
		outW.Close()
		if lines := <-got; int(lines) != n {
			b.Errorf("%d answers to %d requests", lines, n)
		}
	})
}

// pipelined writes requests sixteen at a time without waiting for answers; finish waits for them.
func pipelined(b *testing.B, in io.Writer, finish func(n int)) {
	b.ReportAllocs()
	var lines []byte
	n, flushed := 0, 0
	for b.Loop() {
		lines = append(fmt.Appendf(lines, "%s", read(fmt.Sprint(n), kib)), '\n')
		if n++; n-flushed == 16 {
			if _, err := in.Write(lines); err != nil {
				b.Fatal(err)
			}
			lines, flushed = lines[:0], n
		}
	}
	if _, err := in.Write(lines); err != nil {
		b.Fatal(err)
	}
	finish(n)
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "reads/s")
}

// counter counts lines.
type counter struct{ lines int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.lines += int64(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

func osPipes(b *testing.B) (inR, inW, outR, outW *os.File) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err = os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, f := range []*os.File{inR, inW, outR, outW} {
			f.Close()
		}
	})
	return inR, inW, outR, outW
}

func BenchmarkAnswerRead(b *testing.B) {
	cat := newFakeCatalogue()
	cat.contents[kib] = mcp.Contents{MIMEType: "text/markdown", Data: []byte(strings.Repeat("A line of text, as they are.\n\n# T\n", 31)), Text: true}
	p := &pipe{s: NewServer(cat, listen.NewHub(nil), nil)}
	line := []byte(read("1", kib))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		c := p.parse(line)
		r, err := p.s.route(&c.msg, origin{})
		if err != nil {
			b.Fatal(err)
		}
		dst, _ = p.s.respond(b.Context(), &r, dst[:0])
	}
}

func BenchmarkParseAndRoute(b *testing.B) {
	p := &pipe{s: NewServer(newFakeCatalogue(), listen.NewHub(nil), nil)}
	line := []byte(read("1", kib))
	b.ReportAllocs()
	for b.Loop() {
		c := p.parse(line)
		if _, err := p.s.route(&c.msg, origin{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListPage(b *testing.B) {
	cat := newFakeCatalogue()
	var page fakePage
	for i := range 1000 {
		page.entries = append(page.entries, mcp.Resource{URI: fmt.Sprintf("test://top/directory/file-%d.md", i), Name: fmt.Sprintf("directory/file-%d.md", i),
			MIMEType: "text/markdown", Size: 1234, Annotations: mcp.Annotations{LastModified: "2025-01-12T15:00:58Z"}})
	}
	cat.pages["first"] = page
	s := NewServer(cat, listen.NewHub(nil), nil)
	r := request{modern: true, method: modernMethods["resources/list"], version: mcp.Modern}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = s.respond(b.Context(), &r, dst[:0])
	}
}
