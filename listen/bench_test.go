package listen_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// crowd opens streams with so many URIs each, of which stream i's are its own but for the shared ones.
func crowd(b *testing.B, h *listen.Hub, streams, each int) []*listen.Stream {
	b.Helper()
	all := make([]*listen.Stream, streams)
	for i := range all {
		var f listen.Filter
		for j := range each {
			f.ResourceSubscriptions = append(f.ResourceSubscriptions, fmt.Sprintf("file:///srv/project/docs/%d/%d.md", i, j))
		}
		all[i] = open(b, h, fmt.Sprint(i), f, &counter{})
		drain(b, all[i], time.Now())
	}
	return all
}

// BenchmarkPublish finds and wakes 10 streams among others, for each of 100 keys in turn. Between the rounds they are
// pulled clean outside the time measured.
func BenchmarkPublish(b *testing.B) {
	for _, others := range []int{0, 1_000, 10_000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			h := listen.NewHub(&listen.Options{UpdateInterval: -1})
			crowd(b, h, others, 1)
			var changes []listen.Change
			var interested []*listen.Stream
			for i := range 100 {
				f := uris(fmt.Sprintf("file:///srv/project/docs/guide/%d.md", i))
				changes = append(changes, listen.Change{Keys: f.ResourceSubscriptions})
				for j := range 10 {
					interested = append(interested, open(b, h, fmt.Sprint(10*i+j), f, &counter{}))
				}
			}
			now, buf := time.Now(), []byte(nil)
			clean := func() {
				for _, s := range interested {
					for {
						frame, _ := s.Next(buf[:0], now)
						if frame == nil {
							break
						}
						buf = frame
					}
				}
			}
			clean()
			for b.Loop() {
				for _, c := range changes {
					h.Publish(c)
				}
				b.StopTimer()
				clean()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(changes)), "ns/publish")
		})
	}
}

// BenchmarkDeliver is one change to all of so many streams: found, woken, encoded.
func BenchmarkDeliver(b *testing.B) {
	for _, streams := range []int{1, 100, 16_000} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			h := listen.NewHub(&listen.Options{UpdateInterval: -1})
			f := uris("file:///srv/project/docs/guide/intro.md")
			var all []*listen.Stream
			for i := range streams {
				all = append(all, open(b, h, fmt.Sprint(i), f, &counter{}))
				drain(b, all[i], time.Now())
			}
			change := listen.Change{Keys: f.ResourceSubscriptions}
			now, buf := time.Now(), []byte(nil)
			b.ReportAllocs()
			for b.Loop() {
				h.Publish(change)
				for _, s := range all {
					buf, _ = s.Next(buf[:0], now)
					s.Next(nil, now)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(streams), "ns/delivery")
		})
	}
}

// BenchmarkOpenCancel opens and cancels a stream of 50 URIs that others have too.
func BenchmarkOpenCancel(b *testing.B) {
	for _, others := range []int{0, 400, 4_000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			h := listen.NewHub(nil)
			crowd(b, h, others, 50)
			var f listen.Filter
			var subs []listen.Sub
			for j := range 50 {
				uri := fmt.Sprintf("file:///srv/project/docs/%d/%d.md", j, j)
				f.ResourceSubscriptions = append(f.ResourceSubscriptions, uri)
				subs = append(subs, listen.Sub{Key: uri, URI: uri})
			}
			id := []byte(`1`)
			var c counter
			b.ReportAllocs()
			for b.Loop() {
				s, err := h.Open(id, f, subs, &c, nil)
				if err != nil {
					b.Fatal(err)
				}
				s.Cancel()
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	h := listen.NewHub(&listen.Options{UpdateInterval: -1})
	f := uris("file:///srv/project/docs/guide/intro.md")
	s := open(b, h, `1`, f, &counter{})
	drain(b, s, time.Now())
	change := listen.Change{Keys: f.ResourceSubscriptions}
	now, buf := time.Now(), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		h.Publish(change)
		if buf, _ = s.Next(buf[:0], now); buf == nil {
			b.Fatal("nothing to say")
		}
	}
}

// BenchmarkNextThatNames tells one stream of so many changes beneath its URI.
func BenchmarkNextThatNames(b *testing.B) {
	for _, changes := range []int{1, 64, 1_000} {
		b.Run(fmt.Sprint("changes=", changes), func(b *testing.B) {
			h := listen.NewHub(&listen.Options{UpdateInterval: -1, ChangedMeta: changedMeta})
			s := open(b, h, `1`, uris("file:///srv/project"), &counter{})
			drain(b, s, time.Now())
			var change listen.Change
			for i := range changes {
				change.Keys = append(change.Keys, fmt.Sprintf("file:///srv/project/docs/guide/%04d.md", i))
			}
			now, buf := time.Now(), []byte(nil)
			b.ReportAllocs()
			for b.Loop() {
				h.Publish(change)
				if buf, _ = s.Next(buf[:0], now); buf == nil {
					b.Fatal("nothing to say")
				}
			}
		})
	}
}

// BenchmarkNextOfMany pulls from a stream that owes 10,000 URIs.
func BenchmarkNextOfMany(b *testing.B) {
	h := listen.NewHub(&listen.Options{UpdateInterval: -1})
	s := crowd(b, h, 1, 10_000)[0]
	root := listen.Change{}
	for j := range 10_000 {
		root.Keys = append(root.Keys, fmt.Sprintf("file:///srv/project/docs/0/%d.md", j))
	}
	now, buf, owed := time.Now(), []byte(nil), 0
	b.ReportAllocs()
	for b.Loop() {
		if owed == 0 {
			b.StopTimer()
			h.Publish(root)
			owed = len(root.Keys)
			b.StartTimer()
		}
		buf, _ = s.Next(buf[:0], now)
		owed--
	}
}

// BenchmarkIdleStream measures the memory of a stream that listens to the list and one URI of its own.
func BenchmarkIdleStream(b *testing.B) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	h := listen.NewHub(&listen.Options{MaxStreams: -1})
	var c counter
	var buf []byte
	before := heap()
	n := 0
	for b.Loop() {
		uri := fmt.Sprintf("file:///srv/project/docs/%d.md", n)
		f := listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{uri}}
		s, err := h.Open(fmt.Append(nil, n), f, []listen.Sub{{Key: uri, URI: uri}}, &c, nil)
		if err != nil {
			b.Fatal(err)
		}
		for frame := []byte(nil); ; buf = frame { // not decoded, which would count
			if frame, _ = s.Next(buf[:0], time.Now()); frame == nil {
				break
			}
		}
		n++
	}
	b.ReportMetric(float64(heap()-before)/float64(n), "B/stream")
	runtime.KeepAlive(h)
}

// BenchmarkIdleHandled measures the memory of the same stream when a handler answers it, its goroutine included.
func BenchmarkIdleHandled(b *testing.B) {
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	service := &listen.Service{
		Hub: listen.NewHub(&listen.Options{MaxStreams: -1}), Source: listen.URISource{ResourcesListChanged: true},
		Handler: listen.HandlerFunc(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			honoured, err := p.Builtin(ctx, r.Filter)
			if err == nil {
				_, err = p.Acknowledge(honoured)
			}
			<-ctx.Done()
			return err
		}),
	}
	client, buf := make(bell, 1), []byte(nil)
	var all []*listen.Stream
	before := used()
	for b.Loop() {
		params := fmt.Appendf(nil, `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["file:///srv/project/docs/%d.md"]}}`, len(all))
		s, err := service.Open(b.Context(), fmt.Append(nil, len(all)), params, client)
		if err != nil {
			b.Fatal(err)
		}
		<-client
		if buf, _ = s.Next(buf[:0], time.Now()); buf == nil {
			b.Fatal("no acknowledgement")
		}
		s.Next(nil, time.Now())
		all = append(all, s)
	}
	b.ReportMetric(float64(used()-before)/float64(len(all)), "B/stream")
	for _, s := range all {
		s.Cancel()
	}
	if err := service.Hub.Shutdown(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCollect is a garbage collection beside 4,000 streams with 50 URIs each, which some thousand requests share.
func BenchmarkCollect(b *testing.B) {
	runtime.GC()
	h := listen.NewHub(nil)
	all := crowd(b, h, 4_000, 50)
	for b.Loop() {
		runtime.GC()
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(h)
}

// BenchmarkKeys is a pass over the keys of a crowd, in pieces of 256, of which each holds the lock once.
func BenchmarkKeys(b *testing.B) {
	for _, streams := range []int{1_000, 4_000} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			h := listen.NewHub(nil)
			crowd(b, h, streams, 50)
			var piece []string
			pieces := 0
			b.ReportAllocs()
			for b.Loop() {
				for at := -1; at != 0; pieces++ {
					piece, at = h.Keys(piece[:0], at, 256)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(pieces), "ns/lock")
		})
	}
}
