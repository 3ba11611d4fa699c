package watcher

import (
	"fmt"
	"os"
	"sync"
)

// ration is what all watchers of the process may use up together of something that runs short.
type ration struct {
	mu    sync.Mutex // guards what follows
	limit int
	used  int
}

func (r *ration) most(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = n
}

// change takes what now is needed in place of before, or nothing if there is too little.
func (r *ration) change(before, now int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now > before && r.used-before+now > r.limit {
		return false
	}
	r.used += now - before
	return true
}

// rationed is a source that watches no more than its ration suffices for. What comes to a directory later is counted when the
// directory is added again, which it is when the source runs short.
type rationed struct {
	source
	ration *ration
	size   func(dir string) int
	costs  map[string]int // by directory
}

func newRationed(s source, r *ration) *rationed {
	return &rationed{source: s, ration: r, size: filesIn, costs: map[string]int{}}
}

func filesIn(dir string) int {
	f, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // those that could be read
	return len(names)
}

func (s *rationed) Add(dir string) error {
	before, now := s.costs[dir], 1+s.size(dir)
	if !s.ration.change(before, now) {
		return fmt.Errorf("%w (half of the open files): %s", errLimit, watchCure)
	}
	if err := s.source.Add(dir); err != nil {
		s.ration.change(now, before)
		return err
	}
	s.costs[dir] = now
	return nil
}

func (s *rationed) Remove(dir string) {
	s.source.Remove(dir)
	s.ration.change(s.costs[dir], 0)
	delete(s.costs, dir)
}

func (s *rationed) Close() error {
	for dir := range s.costs {
		s.ration.change(s.costs[dir], 0)
	}
	clear(s.costs)
	return s.source.Close()
}
