package watcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// TestSyncFindsWhatIsPolled, all of the names that came and went before it, and does not wait for a pass.
func TestSyncFindsWhatIsPolled(t *testing.T) {
	for _, opts := range []struct {
		name string
		poll bool
		most int // kernel watches, the mark's included
	}{{"all", true, 0}, {"for want of watches", false, 2}} {
		t.Run(opts.name, func(t *testing.T) {
			bubble(t, Options{Poll: opts.poll}, func(l *lab) {
				l.do("mkdir a; mkdir a/b; write a/b/f; mkdir c")
				l.maxWatches = opts.most
			}, func(l *lab) {
				l.idle(5 * time.Minute) // passes are rare by then
				for _, script := range []string{"write a/b/g; write c/h", "rm a/b/g", "mv a/b c/b", "mkdir c/d; mkdir c/d/e; write c/d/e/i", "rmr c/d"} {
					l.do(script)
					start := time.Now()
					l.must(l.Sync(l.Context()))
					if took := time.Since(start); took > flickerMost {
						t.Errorf("%s: Sync took %v", script, took)
					}
					l.consistent()
				}
			})
		})
	}
}

// TestProbesRest: a tree that takes long to look at is not looked at for each who asks.
func TestProbesRest(t *testing.T) {
	const takes = 10 * time.Millisecond
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		l.do("mkdir a; mkdir b")
	}, func(l *lab) {
		l.idle(5 * time.Minute)
		var asked atomic.Int64
		d.slow(func(string) time.Duration { asked.Add(1); return takes })
		start := time.Now()
		for range 1000 {
			l.must(l.Sync(l.Context()))
			time.Sleep(time.Millisecond)
		}
		spent := time.Duration(asked.Load()) * takes
		if all := time.Since(start); spent == 0 || spent > all/3 { // a pass and the root have their share too
			t.Errorf("%v of %v were spent on looks", spent, all)
		}
	})
}

// TestSyncFindsNamesEachTime however soon after the last one it is called, in a tree that is looked at in a moment.
func TestSyncFindsNamesEachTime(t *testing.T) {
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		l.do("mkdir a; mkdir b")
	}, func(l *lab) {
		d.slow(func(string) time.Duration { return time.Millisecond })
		for _, script := range []string{"write a/f", "write a/g", "rm a/f", "mkdir b/c; write b/c/f", "mv a b/a", "rmr b"} {
			l.do(script)
			l.must(l.Sync(l.Context()))
			l.consistent()
		}
	})
}

// TestSyncLeavesADiskThatHangs when its time is up, and when Run ends.
func TestSyncLeavesADiskThatHangs(t *testing.T) {
	d := &slowDisk{looks: map[string]int{}}
	var w *Watcher
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		l.do("mkdir a")
	}, func(l *lab) {
		w = l.Watcher
		d.slow(func(string) time.Duration { return time.Minute })
		for range 3 {
			ctx, cancel := context.WithTimeout(l.Context(), time.Second)
			start := time.Now()
			if err := l.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("Sync returned %v after %v", err, time.Since(start))
			}
			cancel()
		}
	})
	if err := w.Sync(t.Context()); !errors.Is(err, errNotRunning) {
		t.Errorf("Sync returned %v though Run has ended", err)
	}
}

// TestSyncAfterSync: what happens right after a probe is not missed, however long that one took.
func TestSyncAfterSync(t *testing.T) {
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		l.do("mkdir a; mkdir b")
	}, func(l *lab) {
		l.idle(5 * time.Minute)
		d.slow(func(string) time.Duration { return 10 * time.Millisecond })
		for i := range 10 {
			l.must(l.Sync(l.Context()))
			l.do(fmt.Sprintf("write a/f%d", i))
			l.must(l.Sync(l.Context()))
			l.consistent()
		}
	})
}

// TestNamesDoNotWaitForFiles: who asks for what is in a tree of many files does not wait until it has rested from a look at them.
func TestNamesDoNotWaitForFiles(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		for i := range 100 {
			l.do(fmt.Sprintf("mkdir d%d; write d%d/f", i, i))
		}
	}, func(l *lab) {
		l.idle(5 * time.Minute)
		l.Wake()
		l.idle(time.Second) // the next pass is a while away
		opened := 0
		l.onOpen(func(string) { opened++; time.Sleep(probeMost / 10) })
		l.must(l.Sync(l.Context()))
		if opened < 10 || opened > 11 {
			l.Errorf("%d directories were looked through", opened)
		}
		start, before := time.Now(), opened
		l.do("write d7/g")
		l.must(l.Sync(l.Context()))
		l.consistent()
		if took := time.Since(start); opened > before+4 || took > flickerMost {
			l.Errorf("Sync took %v, for %d looks", took, opened-before)
		}
	})
}

// TestSyncAsks: the files that a probe had no time for are looked at in a pass that follows soon.
func TestSyncAsks(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		for i := range 100 {
			l.do(fmt.Sprintf("mkdir d%d; write d%d/f", i, i))
		}
	}, func(l *lab) {
		l.idle(10 * time.Minute)
		l.times("d0").next()
		l.idle(passEvery * 11 / 10)
		for i := range 100 {
			l.do(fmt.Sprintf("write d%d/f", i))
		}
		l.onOpen(func(string) { time.Sleep(probeMost / 10) })
		l.must(l.Sync(l.Context()))
		l.idle(5 * time.Second)
		l.consistent()
	})
}

// TestProbeIsGivenUp when nobody waits any more, and those who could not wait for the next one are not held up.
func TestProbeIsGivenUp(t *testing.T) {
	const takes = 100 * time.Millisecond
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		for i := range 100 {
			l.do(fmt.Sprintf("mkdir d%d", i))
		}
	}, func(l *lab) {
		l.idle(5 * time.Minute)
		var asked atomic.Int64
		d.slow(func(string) time.Duration { asked.Add(1); return takes })
		sync := func() (took time.Duration) {
			ctx, cancel := context.WithTimeout(l.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_ = l.Sync(ctx)
			return time.Since(start)
		}
		sync()
		l.idle(2 * takes)
		n := asked.Load()
		if n < 10 || n > 12 {
			l.Errorf("%d directories were asked in a second", n)
		}
		if took := sync(); took != 0 || asked.Load() > n {
			l.Errorf("somebody waited %v for nothing, and %d directories were asked", took, asked.Load())
		}
		l.idle(4 * time.Second)
		if sync(); asked.Load() < 15 {
			l.Errorf("%d directories were asked though there was time to rest", asked.Load())
		}
	})
}
