package resources

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

func TestReadContents(t *testing.T) {
	p := serve(t).load()
	for name, c := range map[string]struct {
		data string
		text bool
		mime string
	}{
		"a.md":       {"# é\r\n", true, "text/markdown"},
		"empty":      {"", true, "text/plain"},
		"bom.txt":    {"\ufeffx", true, "text/plain"},
		"latin1.txt": {"\xe9", false, "text/plain"},
		"noext":      {"plain", true, "text/plain"},
		"picture":    {"\x89PNG\r\n\x1a\n\x00", false, "image/png"},
		"blob":       {"\xff\x00\x01", false, "application/octet-stream"},
		"page":       {"\n<!DOCTYPE HTML><p>", true, "text/html"},
		"Makefile":   {"all:\n", true, "text/x-makefile"},
		"UPPER.JPG":  {"\xff\xd8\xff", false, "image/jpeg"},
		"x.unknown":  {"<?xml version='1.0'?>", true, "application/xml"},
		"nul.txt":    {"a\x00b", true, "text/plain"},
	} {
		p.write(name, c.data)
		got, err := p.read(name)
		if err != nil || string(got.Data) != c.data || got.Text != c.text || got.MIMEType != c.mime || got.URI != "test://"+name {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	p.Apply(rescan(""))
	for _, r := range p.entries() { // the list says the same type as a read
		c, err := p.cat.Read(context.Background(), r.URI, nil)
		if err != nil || c.MIMEType != r.MIMEType {
			t.Errorf("%s: listed as %s, read as %s, %v", r.URI, r.MIMEType, c.MIMEType, err)
		}
	}
}

func TestReadEchoesTheSpelling(t *testing.T) {
	p := serve(t, "a b.md", "d/x", "a%20b.md", "100% done.txt", "c%41").load()
	p.wantText("%61%20b.md", "content of a b.md")
	p.wantText("a b.md", "content of a b.md")
	p.wantText("a%2520b.md", "content of a%20b.md")
	p.wantText("100%%20done.txt", "content of 100% done.txt")
	p.wantText("c%41", "content of c%41") // decoded it is absent, to the letter it is there
	p.remove("a b.md")
	p.wantText("a%20b.md", "content of a%20b.md")
}

func TestReadRefuses(t *testing.T) {
	p := serve(t, "a", "d/a", "d/b").load()
	p.wantAbsent("/", "/a", "d/../a", "./a", "d//a", "a/", "a/b", "..", "%2e%2e/x", "d%2Fa", "a?", "a#", "A", "none", "none/", strings.Repeat("x", 300), strings.Repeat("x/", 3000)+"x")
	for _, uri := range []string{"other://a", "test:a", "", "file:///etc/passwd", "a"} {
		var absent *mcp.NotFoundError
		if _, err := p.cat.Read(context.Background(), uri, nil); !errors.As(err, &absent) || absent.URI != uri {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestReadDirectory(t *testing.T) {
	p := serve(t, "b c", "a/x", "a/d/y", "a/.h", "a/e/").load()
	for uri, want := range map[string]string{
		"":    "test://b%20c\r\ntest://a/\r\n",
		"a":   "test://a/x\r\ntest://a/d/\r\ntest://a/e/\r\n",
		"a/":  "test://a/x\r\ntest://a/d/\r\ntest://a/e/\r\n",
		"a/e": "",
	} {
		c, err := p.read(uri)
		if err != nil || string(c.Data) != want || c.MIMEType != "text/uri-list" || !c.Text || c.URI != "test://"+uri {
			t.Errorf("%q: %+v, %v", uri, c, err)
		}
	}
}

func TestReadLimit(t *testing.T) {
	p := serve(t, "d/a", "d/b")
	p.write("ten", "0123456789")
	p.write("eleven", "0123456789a")
	p.open(&Options{Base: "test://", MaxSize: 10})
	p.load()
	p.wantText("ten", "0123456789")
	_, err := p.read("eleven")
	var tooLarge *mcp.TooLargeError
	if !errors.As(err, &tooLarge) || *tooLarge != (mcp.TooLargeError{URI: "test://eleven", Size: 11, Limit: 10}) {
		t.Errorf("%v", err)
	}
	if _, err := p.read("d"); !errors.As(err, &tooLarge) {
		t.Errorf("a directory above the limit: %v", err)
	}
}

// TestReadGrowsPastItsSize: what was appended after the size was taken is seen, up to the limit.
func TestReadGrowsPastItsSize(t *testing.T) {
	p := serve(t)
	p.write("f", strings.Repeat("x", 5000))
	f, err := os.Open(p.at("f"))
	p.must(err)
	defer f.Close()
	for size, most := range map[int64]int64{0: 1 << 20, 10: 1 << 20, 5000: 5000, 9000: 1 << 20} {
		if got, err := readAll(f, nil, size, most); err != nil || len(got) != 5000 {
			t.Errorf("size %d: %d bytes, %v", size, len(got), err)
		}
	}
	if got, err := readAll(f, nil, 10, 100); err != nil || len(got) != 101 {
		t.Errorf("%d bytes, %v; want one beyond the limit", len(got), err)
	}
}

// restless is a file that is rewritten, in place, after each of its first reads.
type restless struct {
	*os.File
	p        *place
	writes   int
	attempts int
}

func (f *restless) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	if off == 0 {
		if f.attempts++; f.attempts <= f.writes {
			f.p.write("f", strings.Repeat("b", 1000+f.attempts))
		}
	}
	return n, err
}

func TestTornReads(t *testing.T) {
	p := serve(t, "f")
	p.open(&Options{Base: "test://", MaxSize: 10000})
	f, err := os.Open(p.at("f"))
	p.must(err)
	defer f.Close()
	for writes, want := range map[int]int{0: 1, 1: 2, 3: 4, 50: 5} { // it is not read for ever
		p.write("f", strings.Repeat("a", 900))
		before, err := f.Stat()
		p.must(err)
		torn := &restless{File: f, p: p, writes: writes}
		got, err := p.readWhole(context.Background(), "test://f", torn, before, p.maxSize)
		if err != nil || torn.attempts != want {
			t.Errorf("%d writes: read %d times, %v", writes, torn.attempts, err)
		}
		if writes > 0 && writes < 5 && string(got) != strings.Repeat("b", 1000+writes) {
			t.Errorf("%d writes: %d bytes", writes, len(got))
		}
	}
	p.write("f", "")
	before, err := f.Stat()
	p.must(err)
	p.write("f", strings.Repeat("x", int(p.maxSize)+1)) // above the limit by the time it is read
	var tooLarge *mcp.TooLargeError
	if _, err := p.readWhole(context.Background(), "test://f", f, before, p.maxSize); !errors.As(err, &tooLarge) || tooLarge.Size != p.maxSize+1 {
		t.Errorf("%v", err)
	}
}

func TestReadOfACancelledRequest(t *testing.T) {
	p := serve(t, "a").load()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.cat.Read(ctx, "test://a", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRootReplaced(t *testing.T) {
	p := serve(t)
	top := p.dir
	p.dir = p.at("root")
	p.make("a", "b")
	p.open(nil)
	p.watch()
	p.wantText("a", "content of a")
	p.must(os.Rename(p.dir, top+"/moved"))
	p.wantAbsent("a") // os.Root would go on serving it
	p.wantApply(dirty(str, ""), true, "a", "b")
	p.wantList()
	p.make("b", "c")
	p.wantText("b", "content of b")
	p.wantApply(rescan(""), true, "b", "c")
	p.wantList("b", "c")
	p.must(p.Root.Close())
	p.wantAbsent("b")
}

func TestMediaTypes(t *testing.T) {
	for name, want := range map[string]string{
		"a.ts": "text/x-typescript", "a.b.json": "application/json", "README": "text/plain", "go.mod": "text/plain", "x.YAML": "application/yaml",
		"noext": "", "a.": "", "dir.d/x": "", "a.unknownext": "", "Dockerfile": "text/x-dockerfile", "pic.svg": "image/svg+xml",
	} {
		if got := typeByName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	cut := append(bytes.Repeat([]byte("a"), sniffLen-1), "é"[0])
	if got := sniffable[sniff(cut)]; got != "text/plain" {
		t.Errorf("a rune cut off at the end: %s", got)
	}
}
