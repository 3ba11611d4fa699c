//go:build unix

package resources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// plant makes n empty files, 100 to a directory.
func plant(b *testing.B, n int) *place {
	b.Helper()
	p := &place{t: b, dir: b.TempDir()}
	for i := range n {
		dir := filepath.Join(p.dir, fmt.Sprintf("d%02d", i/10000), fmt.Sprintf("e%02d", i/100%100))
		if i%100 == 0 {
			p.must(os.MkdirAll(dir, 0o755))
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("file%05d.md", i)))
		p.must(err)
		f.Close()
	}
	p.paged(1000)
	return p
}

// cpu adds the processor time of an operation to the report: on a busy machine the time that passed says little.
func cpu(b *testing.B) (report func()) {
	start := cpuTime(b)
	return func() { b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op") }
}

// cpuTime is how long this process has run, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// apart gives each of n planted files a time of its own.
func (p *place) apart(n int) {
	for i := range n {
		when := time.Date(2026, 7, 28, 0, 0, i*97, 0, time.UTC)
		p.must(os.Chtimes(p.at(fmt.Sprintf("d%02d/e%02d/file%05d.md", i/10000, i/100%100, i)), when, when))
	}
}

func BenchmarkListPage1000Warm(b *testing.B) {
	p := plant(b, 1100)
	p.apart(1100)
	p.load()
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		p.turnPage(b)
	}
}

func BenchmarkListPage1000Cold(b *testing.B) {
	p := plant(b, 1100)
	p.apart(1100)
	p.load()
	files, _, err := p.collect(context.Background(), "", 1000)
	p.must(err)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		for _, part := range files {
			for _, f := range part.files {
				f.stat.Store(nil)
			}
		}
		p.turnPage(b)
	}
}

// turnPage has the first page of 1,000 made.
func (p *place) turnPage(b *testing.B) {
	n := 0
	if _, err := p.cat.List(context.Background(), nil, func(*mcp.Resource) { n++ }); err != nil || n != 1000 {
		b.Fatal(n, err)
	}
}

func BenchmarkRead1KiB(b *testing.B) {
	p := serve(b)
	p.write("d/f.md", string(make([]byte, 1024)))
	p.load()
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if c, err := p.cat.Read(context.Background(), "test://d/f.md", nil); err != nil || len(c.Data) != 1024 {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad100000Selected(b *testing.B) {
	p := plant(b, 100000)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		p.selected(flags{include: "*.md *.txt d0*/e?1/**", exclude: "*.bak build/ /d00/e00/*7.md", unhide: ".github/** d00/.env"})
		p.load()
	}
}

func BenchmarkApplyOneChange(b *testing.B) {
	p := plant(b, 10000).watch()
	batch := watcher.Batch{Dirty: []watcher.Dirty{{Path: "d00/e50/file05050.md", Evidence: watcher.Content}}}
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if c, _ := p.Apply(batch); len(c.Keys) != 1 {
			b.Fatal(c)
		}
	}
}

func BenchmarkApplyRescan10000(b *testing.B) {
	p := plant(b, 10000).watch()
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if c, _ := p.Apply(watcher.Batch{Rescan: []string{""}}); len(c.Keys) != 0 {
			b.Fatal(c)
		}
	}
}
