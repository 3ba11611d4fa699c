package resources

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

func TestLargeFilesAreBodies(t *testing.T) {
	p := serve(t).load()
	opts := &mcp.ReadOptions{Measure: func(block []byte) int { return len(block) + bytes.Count(block, []byte("\n")) }}
	for name, c := range map[string]struct {
		data string
		text bool
		mime string
	}{
		"lines.md":   {strings.Repeat("a line\n", 50_000), true, "text/markdown"},
		"a block":    {strings.Repeat("x", 2*bodyBlock), true, "text/plain"},
		"a byte":     {strings.Repeat("x", 2*bodyBlock+1), true, "text/plain"},
		"characters": {"x" + strings.Repeat("€", bodyBlock), true, "text/plain"}, // they go on in the next block
		"cut":        {strings.Repeat("x", 2*bodyBlock-1) + "\xe2\x82", false, "text/plain"},
		"torn":       {strings.Repeat("x", 2*bodyBlock-1) + "\xe2x", false, "text/plain"},
		"late":       {strings.Repeat("x", 3*bodyBlock) + "\xff", false, "text/plain"},
		"picture":    {"\x89PNG\r\n\x1a\n\x00" + strings.Repeat("\xff", 100_000), false, "image/png"},
		"page":       {"\n<!DOCTYPE HTML><p>" + strings.Repeat("x", 100_000), true, "text/html"},
	} {
		p.write(name, c.data)
		got, err := p.cat.Read(t.Context(), "test://"+strings.ReplaceAll(name, " ", "%20"), opts)
		if err != nil || got.Body == nil || got.Text != c.text || got.MIMEType != c.mime {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		if want := int64(opts.Measure([]byte(c.data))); c.text && got.Body.Measured() != want {
			t.Errorf("%s: measured %d, want %d", name, got.Body.Measured(), want)
		}
		again := got.Body
		for _, i := range []int{again.Blocks() - 1, 0} { // in any order
			if _, err := again.Block(i); err != nil {
				t.Errorf("%s: block %d: %v", name, i, err)
			}
		}
		if string(p.wholeOf(got)) != c.data {
			t.Errorf("%s: it is another", name)
		}
	}
}

// What a body hands out is what was there when it was read, whatever is done to the file, or nothing.
func TestBodiesKeepToWhatWasRead(t *testing.T) {
	p := serve(t).load()
	was := strings.Repeat("a line\n", 50_000)
	for name, c := range map[string]struct {
		do   func(f *os.File) error
		gone bool
	}{
		"appended":  {func(f *os.File) error { _, err := f.WriteAt([]byte("more"), int64(len(was))); return err }, false},
		"replaced":  {func(*os.File) error { p.write("other", "x"); return os.Rename(p.at("other"), p.at("f")) }, false},
		"removed":   {func(*os.File) error { return os.Remove(p.at("f")) }, false},
		"written":   {func(f *os.File) error { _, err := f.WriteAt([]byte("A"), 200_000); return err }, true},
		"truncated": {func(f *os.File) error { return f.Truncate(int64(len(was)) - 1) }, true},
		"emptied":   {func(f *os.File) error { return f.Truncate(0) }, true},
	} {
		p.write("f", was)
		f, err := os.OpenFile(p.at("f"), os.O_WRONLY, 0)
		p.must(err)
		got, err := p.read("f")
		p.must(err)
		p.must(c.do(f))
		f.Close()
		var data []byte
		for i := range got.Body.Blocks() {
			block, failed := got.Body.Block(i)
			if err = failed; err != nil {
				break
			}
			data = append(data, block...)
		}
		if c.gone != errors.Is(err, mcp.ErrChanged) || !c.gone && string(data) != was || !strings.HasPrefix(was, string(data)) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		got.Close()
	}
}

// A large file that is written to while it is read is read again, as a small one is.
func TestTornBodies(t *testing.T) {
	p := serve(t)
	for writes, want := range map[int]int{0: 1, 1: 2, 3: 4, 50: 5} {
		p.write("f", strings.Repeat("a", 100_000))
		f, err := os.Open(p.at("f"))
		p.must(err)
		before, err := f.Stat()
		p.must(err)
		torn := &restless{File: f, p: p, writes: writes}
		b, err := p.readBody(t.Context(), "test://f", torn, before, nil)
		if err != nil || torn.attempts != want {
			t.Errorf("%d writes: read %d times, %v", writes, torn.attempts, err)
		}
		if writes > 0 && writes < 5 && b.Size() != int64(1000+writes) {
			t.Errorf("%d writes: %d bytes", writes, b.Size())
		}
		b.Close()
		if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file is not closed: %v", err)
		}
	}
}

func TestBodiesHeedTheLimit(t *testing.T) {
	p := serve(t)
	p.open(&Options{Base: "test://", MaxSize: 100_000})
	p.write("most", strings.Repeat("x", 100_000))
	p.write("more", strings.Repeat("x", 100_001))
	p.load()
	got, err := p.read("most")
	p.must(err)
	if got.Body.Size() != 100_000 {
		t.Errorf("%d bytes", got.Body.Size())
	}
	got.Close()
	var tooLarge *mcp.TooLargeError
	if _, err := p.read("more"); !errors.As(err, &tooLarge) || tooLarge.Size != 100_001 {
		t.Errorf("%v", err)
	}
	f, err := os.Open(p.at("more"))
	p.must(err)
	defer f.Close()
	p.write("small", "")
	empty, err := os.Stat(p.at("small"))
	p.must(err)
	if _, err := p.readBody(t.Context(), "test://f", f, empty, nil); !errors.As(err, &tooLarge) || tooLarge.Size != 100_001 {
		t.Errorf("its size was not true: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.readBody(ctx, "test://f", f, empty, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// To read 64 MiB takes no more memory than to read a little, but for eight bytes of each block.
func TestBodiesTakeNoMemoryOfTheirSize(t *testing.T) {
	const size = 64 << 20
	p := serve(t)
	p.open(&Options{Base: "test://", MaxSize: size})
	p.write("f", "")
	p.must(os.Truncate(p.at("f"), size))
	p.load()
	var before, end runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := p.read("f")
	p.must(err)
	for i := range got.Body.Blocks() {
		_, err := got.Body.Block(i)
		p.must(err)
	}
	got.Close()
	runtime.ReadMemStats(&end)
	if taken := end.TotalAlloc - before.TotalAlloc; taken > 256<<10 {
		t.Errorf("%d bytes are taken", taken)
	}
}

// BenchmarkReadLarge reads 1 MiB and goes through it once, as whoever comes first, and as those who come after.
func BenchmarkReadLarge(b *testing.B) {
	for _, first := range []bool{true, false} {
		name := map[bool]string{true: "first", false: "again"}[first]
		b.Run(name, func(b *testing.B) {
			p := serve(b)
			text := make([]byte, 1<<20)
			for i := range text {
				text[i] = byte('a' + rand.IntN(26))
			}
			p.write("f", string(text))
			p.load()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if first {
					p.surveys.known, p.surveys.blocks = nil, 0
				}
				c, err := p.read("f")
				p.must(err)
				for i := range c.Body.Blocks() {
					_, err := c.Body.Block(i)
					p.must(err)
				}
				c.Close()
			}
		})
	}
}
