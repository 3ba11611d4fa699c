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
	for _, seed := range storms(100) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("play it again with -storm.seed %d", seed)
				}
			}()
			playModel(t, seed)
		})
	}
}

func playModel(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
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
	w, err := New(s.path("in"), nil)
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
			s.step()
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
		rest += 3 * slowEvery / 2
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, c.emit) }()
	for i := range turns {
		if failing {
			m.fail([]error{nil, syscall.EIO}[i%2], []error{syscall.EMFILE, nil}[i/2%2], 3+i)
		}
		time.Sleep(time.Duration(1+i%7) * 5 * time.Millisecond)
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
	m.fail(nil, nil, 0)
	s.calm(s.base)
	time.Sleep(rest)
	if d := c.differs(w.Watched()); d != "" {
		t.Errorf("after the storm:\n%s", d)
	}
	for _, dir := range w.Watched() {
		if !m.watched(w.root.abs(dir)) {
			t.Errorf("registered but not watched: %q", dir)
		}
	}
	// After a loss fsnotify may keep a watch too many.
	if k, n := m.kernelWatches(), len(w.Watched()); k != n && lossless {
		t.Errorf("%d watches, %d of them registered", k, n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
