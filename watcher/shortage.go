package watcher

import "sync"

// Shortage is that the system grants several watchers less than they need. Its limits are the same for all, so they say it
// together: one line when the first of them is short, and one when none is any more. The zero value is ready to use.
type Shortage struct {
	mu    sync.Mutex // guards short
	short int        // watchers that are granted less
}

// join counts a watcher in, and reports whether it is the first.
func (s *Shortage) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short++
	return s.short == 1
}

// leave counts it out, and reports whether it was the last.
func (s *Shortage) leave() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short--
	return s.short == 0
}
