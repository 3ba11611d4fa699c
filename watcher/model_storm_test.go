package watcher

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestModelStorm changes the tree between the system calls of the watcher. A storm that fails
// prints its seed.
func TestModelStorm(t *testing.T) {
	for _, s := range []struct {
		name   string
		rounds int
		way    stormWay
	}{
		{"native", 100, 0},
		{"polled", 50, stormPolled},
		{"limited", 50, stormLimited},
		{"remote", 50, stormRemote},
	} {
		t.Run(s.name, func(t *testing.T) {
			for _, seed := range storms(s.rounds) {
				synctest.Test(t, func(t *testing.T) {
					defer func() {
						if t.Failed() {
							t.Logf("play it again with -run TestModelStorm/%s -storm.seed %d", s.name, seed)
						}
					}()
					playModel(t, seed, s.way)
				})
			}
		})
	}
}

// stormWay is how the watcher of a storm finds changes.
type stormWay int

const (
	stormPolled  stormWay = 1 + iota // by looking alone
	stormLimited                     // by events in a few directories, not the same ones all the time
	stormRemote                      // by events of some changes, and looking
)

// lockedSource may be used by several goroutines.
type lockedSource struct {
	mu     sync.Mutex // guards source
	source rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

func playModel(t *testing.T, seed uint64, way stormWay) {
	rng := rand.New(&lockedSource{source: rand.NewPCG(seed, 0)})
	m := newModel()
	s := &storm{world: m, base: modelBase, rng: rng}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	for range rng.IntN(60) {
		s.step()
	}
	lossless := true
	if rng.IntN(3) == 0 {
		lossless = false
		m.maxQueue = 4 + rng.IntN(40)
	}
	drop := 0
	if rng.IntN(3) == 0 {
		lossless = false
		drop = 1 + rng.IntN(200)
	}
	orderly := drop == 0 && rng.IntN(2) == 0
	if way == stormRemote {
		m.remote = "nfs"
	}
	w, err := New(s.path("in"), &Options{Poll: way == stormPolled})
	if err != nil {
		t.Fatal(err)
	}
	w.disk = m
	w.mounts = func() mountTable { return &modelTable{model: m} }
	w.source = func() (source, error) {
		if src := newModelSource(m); orderly {
			return src, nil
		} else {
			return newFaulty(src, seed, drop), nil
		}
	}
	c := &consumer{root: w.root, view: m}
	ctx, cancel := context.WithCancel(t.Context())
	turns, budget, often := 1+rng.IntN(20), 20+rng.IntN(200), 1+rng.IntN(8)
	calm := make(chan struct{})
	var stepping sync.Mutex // guards pause
	pause := false
	m.interrupt(func() {
		stepping.Lock()
		defer stepping.Unlock()
		if pause {
			return
		}
		select {
		case <-calm:
			return
		default:
		}
		for budget > 0 && rng.IntN(often) == 0 {
			budget--
			m.mute(way == stormRemote && rng.IntN(2) == 0)
			s.step()
			m.mute(false)
		}
	})
	rest := 300 * time.Millisecond
	if rng.IntN(4) == 0 {
		rest += retryFirst
		c.fails = func() bool {
			select {
			case <-calm:
				return false
			default:
				return rng.IntN(3) == 0
			}
		}
	}
	failing := rng.IntN(4) == 0
	if failing {
		rest += 2 * handoverEvery
	}
	gap := 5 * time.Millisecond
	if way != 0 {
		rest += handoverEvery + 2*passIdle
		gap = time.Second
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, c.emit) }()
	for i := range turns {
		switch {
		case way == stormLimited:
			m.fail(nil, nil, 1+rng.IntN(8))
		case failing:
			m.fail([]error{nil, syscall.EIO}[i%2], []error{syscall.EMFILE, nil}[i/2%2], 3+i)
		}
		time.Sleep(time.Duration(1+i%7) * gap)
		_ = m.write(s.path("in/f"))
		_ = m.mkdir(s.path("in/a"))
		_ = m.exchange(s.path("in/a"), s.path("in/b"))
		if i%3 == 1 && !failing && c.fails == nil {
			stepping.Lock()
			pause = true
			stepping.Unlock()
			s.calm(s.base)
			if err := w.Sync(t.Context()); err != nil {
				t.Error(err)
			}
			if d := c.differs(w.Watched()); d != "" {
				t.Errorf("after Sync in turn %d:\n%s", i, d)
			}
			stepping.Lock()
			pause = false
			stepping.Unlock()
		}
	}
	close(calm)
	limit := 0
	if way == stormLimited && rng.IntN(2) == 0 {
		limit = 2
	}
	m.fail(nil, nil, limit)
	s.calm(s.base)
	time.Sleep(rest)
	if d := c.differs(w.Watched()); d != "" {
		t.Errorf("after the storm:\n%s", d)
	}
	for _, dir := range w.Watched() {
		if !m.watched(w.root.abs(dir)) && !w.poller.holds(dir) {
			t.Errorf("registered but neither watched nor polled: %q", dir)
		}
	}
	// After a loss fsnotify may keep a watch too many, and one too few after a move that no event tells of.
	natively := len(w.Watched())
	if way == stormPolled || limit > 0 {
		natively -= w.Polled()
	}
	if k := m.kernelWatches(); k != natively && lossless && way != stormRemote {
		t.Errorf("%d watches, %d of them registered", k, natively)
	}
	if way == stormLimited && limit == 0 && w.Polled() > 0 {
		t.Errorf("%d directories are still polled", w.Polled())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
