package watcher

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// deadline bounds a wait for something that must happen. It is never reached unless the test fails.
const deadline = 20 * time.Second

// eventually waits until problem returns "", looking again whenever a batch may have come.
func eventually(t *testing.T, problem func() string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	give := time.After(deadline)
	for {
		p := problem()
		if p == "" {
			return
		}
		select {
		case <-tick.C:
		case <-give:
			t.Errorf("still after %v:\n%s", deadline, p)
			return
		}
	}
}

// running is a Watcher at work on the disk.
type running struct {
	*Watcher
	*consumer
	stop func()
}

func start(t *testing.T, dir string, opts *Options, wrap func(source) source) *running {
	t.Helper()
	w, err := New(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		w.source = func() (source, error) {
			src, err := newFsnotify()
			if err != nil {
				return nil, err
			}
			return wrap(src), nil
		}
	}
	c := &consumer{root: w.root, view: &diskWorld{}, skip: w.skip}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, c.emit) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return &running{w, c, stop}
}

// settled waits until the consumer knows the disk and the watches are the directories.
func (r *running) settled(t *testing.T, exact bool) {
	t.Helper()
	eventually(t, func() string {
		r.poller.probe(t.Context()) // no test waits for a pass
		if p := r.differs(r.Watched()); p != "" || !exact {
			return p
		}
		if k, ok := kernelWatches(); ok && k != len(r.Watched())-r.Polled() {
			return "the kernel has another number of watches"
		}
		return ""
	})
}

// synced has the watcher tell all that happened, and then the consumer knows the disk.
func (r *running) synced(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := r.Sync(ctx); err != nil {
		t.Error(err)
	}
	if p := r.differs(r.Watched()); p != "" {
		t.Errorf("after Sync:\n%s", p)
	}
}

// TestStorm changes a real tree as fast as it can.
func TestStorm(t *testing.T) {
	for _, faults := range []struct {
		name string
		poll bool
		wrap func(seed uint64) func(source) source
	}{
		{"none", false, func(uint64) func(source) source { return nil }},
		{"disorder", false, func(seed uint64) func(source) source {
			return func(s source) source { return newFaulty(s, seed, 0) }
		}},
		{"loss", false, func(seed uint64) func(source) source {
			return func(s source) source { return newFaulty(s, seed, 100) }
		}},
		{"short", false, func(seed uint64) func(source) source { // of watches
			return func(s source) source {
				r := &ration{limit: 5}
				some := newRationed(s, r)
				some.size = func(string) int { return 0 }
				return some
			}
		}},
		{"polled", true, func(uint64) func(source) source { return nil }},
	} {
		t.Run(faults.name, func(t *testing.T) {
			for _, seed := range storms(1) {
				playDisk(t, seed, &Options{Poll: faults.poll}, faults.wrap(seed), faults.name != "loss")
				if t.Failed() {
					t.Fatalf("play it again with -storm.seed %d", seed)
				}
			}
		})
	}
}

func playDisk(t *testing.T, seed uint64, opts *Options, wrap func(source) source, exact bool) {
	s := &storm{world: &diskWorld{}, base: filepath.Join(t.TempDir(), "base"), rng: rand.New(rand.NewPCG(seed, 0))}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		s.step()
	}
	r := start(t, s.path("in"), opts, wrap)
	for range 1 + s.rng.IntN(8) {
		for range s.rng.IntN(400) {
			s.step()
		}
		// In between, or not, the watcher gets to the end of it.
		if s.rng.IntN(2) == 0 {
			s.calm(s.base)
			if s.rng.IntN(2) == 0 {
				r.synced(t)
			} else {
				r.settled(t, exact)
			}
		}
	}
	s.calm(s.base)
	r.settled(t, exact)
	r.stop()
}
