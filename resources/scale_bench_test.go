//go:build unix

package resources

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// largest is how many files the benchmarks of whole trees go up to. Making a million of them takes most of a minute.
var largest = flag.Int("tree.files", 100_000, "the largest tree of the benchmarks, in `files`")

// kept is where such trees stay for the next run.
var kept = flag.String("tree.keep", "", "the `directory` that keeps the trees of the benchmarks")

// forest makes so many empty files, perDir to a directory, or finds them where they are kept.
func forest(b *testing.B, files, perDir int) *place {
	b.Helper()
	p := &place{t: b, dir: filepath.Join(*kept, fmt.Sprintf("%d-by-%d", files, perDir))}
	if *kept == "" {
		p.dir = b.TempDir()
	} else if _, err := os.Stat(p.dir); err == nil {
		p.open(nil)
		return p
	}
	for i := range files {
		dir := filepath.Join(p.dir, fmt.Sprintf("dir%05d", i/perDir))
		if i%perDir == 0 {
			p.must(os.MkdirAll(dir, 0o755))
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("file%06d.txt", i%perDir)))
		p.must(err)
		f.Close()
	}
	p.open(nil)
	return p
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkTree tells what the index of a tree costs to build, and then to keep.
func BenchmarkTree(b *testing.B) {
	for _, shape := range []struct{ files, perDir int }{
		{1_000, 100}, {10_000, 100}, {100_000, 100}, {1_000_000, 100}, {1_000_000, 1_000}, {200_000, 200_000},
	} {
		b.Run(fmt.Sprintf("files=%d/dir=%d", shape.files, shape.perDir), func(b *testing.B) {
			if shape.files > *largest {
				b.Skip("larger than -tree.files")
			}
			p := forest(b, shape.files, shape.perDir)
			var before, after uint64
			var cpu int64
			for b.Loop() {
				b.StopTimer()
				p.Root, p.cat = nil, nil
				before = heap()
				p.open(nil)
				cpu -= cpuTime(b)
				b.StartTimer()
				p.load()
				b.StopTimer()
				cpu += cpuTime(b)
				after = heap()
				b.StartTimer()
			}
			b.ReportMetric(float64(cpu)/float64(b.N)/float64(shape.files), "cpu-ns/file")
			b.ReportMetric(float64(int64(after)-int64(before))/float64(shape.files), "B/file")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(shape.files), "ns/file")
		})
	}
}

// BenchmarkTreeRescan is what the first batch of a watcher costs: it has everything listed again.
func BenchmarkTreeRescan(b *testing.B) {
	p := forest(b, *largest, 100).load()
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		if c, _ := p.Apply(rescan("")); len(c.Keys) > 0 {
			b.Fatal(c)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N)/float64(*largest), "cpu-ns/file")
}

// BenchmarkFirstPage is how long the first answer takes that is asked for as the walk begins.
func BenchmarkFirstPage(b *testing.B) {
	p := forest(b, *largest, 100)
	var worst, sum time.Duration
	for b.Loop() {
		b.StopTimer()
		p.open(nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		start := time.Now()
		go func() {
			p.Root.Load(ctx)
			close(done)
		}()
		page, err := listPage(context.Background(), p.cat, nil)
		took := time.Since(start)
		worst, sum = max(worst, took), sum+took
		if err != nil || len(page.Resources) != 250 {
			b.Fatal(len(page.Resources), err)
		}
		cancel()
		<-done
		b.StartTimer()
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/answer")
	b.ReportMetric(float64(worst.Microseconds()), "µs-worst")
}

// BenchmarkLargeDirectory is what a change, and a page, cost where a directory has many files.
func BenchmarkLargeDirectory(b *testing.B) {
	n := min(*largest, 200_000)
	if n < 4000 {
		b.Skip("-tree.files is too small for pages of 1,000 in the middle")
	}
	p := forest(b, n, n).load()
	b.Run("come-and-go", func(b *testing.B) {
		b.ReportAllocs()
		defer cpu(b)()
		at, ev := "dir00000/file050000x.txt", watcher.Structure|watcher.Settled
		for b.Loop() {
			p.write(at, "")
			if c, _ := p.Apply(dirty(ev, at)); !c.List {
				b.Fatal(c)
			}
			p.must(os.Remove(p.at(at)))
			if c, _ := p.Apply(dirty(ev, at)); !c.List {
				b.Fatal(c)
			}
		}
	})
	for _, where := range []struct {
		name string
		at   int
	}{{"begin", 0}, {"middle", n / 2}, {"end", n - 1001}} {
		b.Run("page-"+where.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				files, _, err := p.collect(context.Background(), fmt.Sprintf("dir00000/file%06d.txt", where.at), 1000)
				if n := countIn(files); err != nil || n != 1000 {
					b.Fatal(n, err)
				}
			}
		})
	}
}
