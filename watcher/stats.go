package watcher

import (
	"log/slog"
	"sync"
	"time"
)

// Mode is how a Watcher finds changes.
type Mode string

const (
	Native  Mode = "native"  // the operating system tells of all
	Polling Mode = "polling" // by looking alone
	Mixed   Mode = "mixed"   // by looking where the operating system does not tell
)

// Stats is what a Watcher has done since Run began.
type Stats struct {
	Mode      Mode
	Watches   int    // directories of which the operating system tells all
	Polled    int    // directories of which it does not, and that are looked at every few seconds
	Batches   uint64 // emitted
	Rescans   uint64 // directories that batches named to be listed again with all below
	Overflows uint64 // times that events were lost
	Repairs   uint64 // walks that trusted no watch

	LastError   string    // what was last said to be wrong, "" if nothing was
	LastErrorAt time.Time // and when
}

// LogValue is one attribute for each field, but for an error that never was.
func (s Stats) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("mode", string(s.Mode)),
		slog.Int("watches", s.Watches),
		slog.Int("polled", s.Polled),
		slog.Uint64("batches", s.Batches),
		slog.Uint64("rescans", s.Rescans),
		slog.Uint64("overflows", s.Overflows),
		slog.Uint64("repairs", s.Repairs),
	}
	if s.LastError != "" {
		attrs = append(attrs, slog.String("last_error", s.LastError), slog.Time("last_error_at", s.LastErrorAt))
	}
	return slog.GroupValue(attrs...)
}

func modeOf(watches, polled int) Mode {
	switch {
	case polled == 0:
		return Native
	case watches == 0:
		return Polling
	}
	return Mixed
}

// counts is the part of Stats that is counted.
type counts struct {
	mu sync.Mutex // guards s
	s  Stats
}

func (c *counts) add(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.s)
}

func (c *counts) batch(b Batch) {
	c.add(func(s *Stats) {
		s.Batches++
		s.Rescans += uint64(len(b.Rescan))
	})
}

func (c *counts) fail(why string) {
	c.add(func(s *Stats) { s.LastError, s.LastErrorAt = why, time.Now() })
}

func (c *counts) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}

// Stats returns what the Watcher has done so far. Any goroutine may ask, at any time.
func (w *Watcher) Stats() Stats {
	s := w.voice.stats.read()
	known, left := w.dirs.count()
	polled := min(w.poller.count(), known) // one that is being handed over is counted by both
	s.Watches, s.Polled = known-polled, polled+left
	if s.Mode = modeOf(s.Watches, s.Polled); w.poll {
		s.Mode = Polling // also while there is nothing to watch
	}
	return s
}
