package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkPass is a pass over 1,000 directories of 100 files in which nothing changes.
func BenchmarkPass(b *testing.B) {
	dir := b.TempDir()
	w, err := New(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	p := w.poller
	p.disk, p.pump = w.disk, newPump(w.root, w.barrier)
	for i := range 1000 {
		sub := filepath.Join(dir, fmt.Sprint("directory", i))
		if err := os.Mkdir(sub, 0o777); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("some-file-%d.md", j)), nil, 0o666); err != nil {
				b.Fatal(err)
			}
		}
	}
	before := heap()
	for i := range 1000 {
		path := fmt.Sprint("directory", i)
		f, err := p.disk.open(filepath.Join(dir, path), false)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.add(path, filepath.Join(dir, path), f); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
	size := heap() - before
	pass := func() {
		for _, d := range p.all() {
			p.look(d)
		}
	}
	pass() // what was racy
	b.ReportAllocs()
	for b.Loop() {
		pass()
	}
	b.ReportMetric(float64(size)/100_000, "B/file")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/100_000, "µs/file")
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
