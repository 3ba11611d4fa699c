package watcher

import "time"

// A window closes after quiet without a hint, and most after its first one. A burst (a checkout, an unpacked archive) is told in
// fewer and larger batches. Paths are counted, not events, and each once: a few noisy log files must not make all others wait.
const (
	quiet      = 2 * time.Millisecond
	most       = 8 * time.Millisecond
	burstQuiet = 20 * time.Millisecond
	burstMost  = 200 * time.Millisecond
	burstPaths = 256
	burstSpan  = 100 * time.Millisecond
)

// settle decides when a window closes.
type settle struct {
	burst bool                // the last window was part of one
	since time.Time           // start of the span over which paths are counted
	seen  map[string]struct{} // paths of the windows that closed in it, at most burstPaths
}

// due is when a window with these hints closes, if no more come.
func (s *settle) due(h *hints) time.Time {
	if s.burst || s.over(h) {
		return earliest(h.last.Add(burstQuiet), h.first.Add(burstMost))
	}
	return earliest(h.last.Add(quiet), h.first.Add(most))
}

// over reports whether a window with these hints makes too many paths for the span. What was seen in it before counts once.
func (s *settle) over(h *hints) bool {
	n := h.paths()
	if h.first.Sub(s.since) <= burstSpan {
		for path := range s.seen {
			if !h.name(path) {
				n++
			}
		}
	}
	return n > burstPaths
}

// close notes that the window with these hints is taken. A burst goes on while its windows, of burstMost, carry more than
// burstPaths, so it ends at half the rate at which it began, however noisy the paths are that remain.
func (s *settle) close(h *hints, now time.Time) {
	over := s.over(h)
	s.burst = over && now.Sub(h.last) < burstQuiet
	if over {
		s.since, s.seen = time.Time{}, nil
		return
	}
	if s.seen == nil || h.first.Sub(s.since) > burstSpan {
		s.since, s.seen = h.first, map[string]struct{}{}
	}
	for path := range h.dirty {
		s.seen[path] = struct{}{}
	}
	for path := range h.dirs {
		s.seen[path] = struct{}{}
	}
}

// earliest ignores zero times, which mean never.
func earliest(times ...time.Time) (t time.Time) {
	for _, u := range times {
		if t.IsZero() || !u.IsZero() && u.Before(t) {
			t = u
		}
	}
	return t
}
