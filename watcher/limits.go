package watcher

import "sync"

// Limits is what several watchers say together of the limits of the system, which are the same for all: one line when the
// first of them is granted less than it needs, and one when none is any more. The zero value is ready to use.
type Limits struct {
	mu    sync.Mutex // guards short
	short int        // watchers that are granted less
}

// reach counts a watcher in, and reports whether it is the first.
func (l *Limits) reach() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.short++
	return l.short == 1
}

// leave counts it out, and reports whether it was the last.
func (l *Limits) leave() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.short--
	return l.short == 0
}
