package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// BenchmarkList measures a page of 250 entries that are known, while nothing changes: of what is known, and of what is
// known when all that happened before has been read.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench List -benchtime 5000x
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	makeFiles(b, dir, 250)
	cfg := serving(dir)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	roots, err := cfg.open(log)
	must(b, err)
	defer closeAll(roots)
	w, err := watcher.New(dir, &watcher.Options{Skip: roots[0].Skip})
	must(b, err)
	var watchers barrier
	scanned := watchers.add(w)
	first := make(chan struct{})
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		watch(ctx, w, roots[0], listen.NewHub(nil), func() { scanned(); close(first) }, log)
	})
	<-first
	for _, of := range []struct {
		name     string
		watchers *barrier
	}{{"known", nil}, {"up to date", &watchers}} {
		b.Run(of.name, func(b *testing.B) {
			cat := cfg.catalogue(roots, of.watchers)
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				n := 0
				_, err := cat.List(ctx, nil, func(*mcp.Resource) { n++ })
				took = append(took, time.Since(start))
				if err != nil || n != 250 {
					b.Fatal(n, err)
				}
			}
			slices.Sort(took)
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(took[(len(took)-1)*p/100].Nanoseconds())/1000, fmt.Sprintf("p%d-µs", p))
			}
		})
	}
}

// BenchmarkListInStorm measures from asking for the list to the answer, over pipes, while somebody makes, writes, renames and removes
// files without a pause. missing/op counts the answers without a file that was written before.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench ListInStorm -benchtime 100x
func BenchmarkListInStorm(b *testing.B) {
	w := startWire(b, serving(b.TempDir()))
	over := make(chan struct{})
	var storm sync.WaitGroup
	for i := range 2 {
		storm.Go(func() {
			dir := filepath.Join(w.dir, fmt.Sprint("storm", i))
			for j := 0; ; j++ {
				select {
				case <-over:
					return
				default:
				}
				file := filepath.Join(dir, fmt.Sprint(j/100%10), fmt.Sprint(j%200))
				// What fails is in the way of the storm itself.
				_ = os.MkdirAll(filepath.Dir(file), 0o777)
				_ = os.WriteFile(file, []byte(fmt.Sprint(j)), 0o666)
				_ = os.Rename(file, file+"~")
				if j%1000 == 999 {
					_ = os.RemoveAll(dir)
				}
			}
		})
	}
	var took []time.Duration
	missing := 0
	for b.Loop() {
		name := fmt.Sprintf("%06d", len(took))
		must(b, os.WriteFile(filepath.Join(w.dir, name), nil, 0o666))
		start := time.Now()
		var page struct{ Resources []struct{ Name string } }
		w.ask("resources/list", "", &page)
		took = append(took, time.Since(start))
		if !slices.ContainsFunc(page.Resources, func(r struct{ Name string }) bool { return r.Name == name }) {
			missing++
		}
		must(b, os.Remove(filepath.Join(w.dir, name)))
	}
	close(over)
	storm.Wait()
	must(b, w.in.Close())
	w.untilEnd()
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(missing)/float64(len(took)), "missing/op")
	for _, p := range []int{50, 99, 100} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}
