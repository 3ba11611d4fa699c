package watcher

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lookTimes are the times at which a directory was opened.
type lookTimes struct {
	*lab
	path string

	mu sync.Mutex // guards at
	at []time.Time
}

// times notes from now on when the directory at path is looked at.
func (l *lab) times(path string) *lookTimes {
	x := &lookTimes{lab: l, path: path}
	l.onOpen(func(abs string) {
		if abs == l.at(path) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.at = append(x.at, time.Now())
		}
	})
	return x
}

func (x *lookTimes) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.at)
}

// next lets time go by until there is a look.
func (x *lookTimes) next() {
	for n := x.count(); x.count() == n; {
		x.idle(10 * time.Millisecond)
	}
}

// during returns how long it was between the looks in that time, in seconds.
func (x *lookTimes) during(d time.Duration) (gaps []float64) {
	first := max(x.count()-1, 0)
	x.idle(d)
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := first + 1; i < len(x.at); i++ {
		gaps = append(gaps, x.at[i].Sub(x.at[i-1]).Seconds())
	}
	return gaps
}

// about compares the gaps, some of which may be missing at the end, with those that jitter makes of want.
func (x *lookTimes) about(gaps []float64, want ...float64) {
	x.Helper()
	ok := len(gaps) == len(want)
	for i := range gaps {
		ok = ok && gaps[i] > want[i]*0.94 && gaps[i] < want[i]*1.06
	}
	if !ok {
		x.Errorf("between the looks are %.3v s, not %v", gaps, want)
	}
}

// Passes become rarer while nothing happens, and frequent again when something does.
func TestPassesBackOff(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir c") }, func(l *lab) {
		x := l.times("c")
		x.next() // after 4 s
		x.about(x.during(65*time.Second), 4, 8, 16, 28)
		x.about(x.during(90*time.Second), 28, 28, 28)
		l.do("write a/b/f")
		x.next()
		x.about(x.during(65*time.Second), 4, 8, 16, 28)
		l.consistent()
	})
}

// TestWake: who asks waits for no longer than a pass that follows another, and not at all if the last one was a while ago.
func TestWake(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir c") }, func(l *lab) {
		l.idle(10 * time.Minute)
		x := l.times("c")
		x.next()
		l.idle(passEvery * 11 / 10)
		l.do("write a/b/f")
		l.Wake()
		l.idle(100 * time.Millisecond)
		l.consistent()

		l.idle(10 * time.Minute)
		x.next()
		l.idle(time.Second)
		l.do("write a/b/f")
		l.Wake()
		l.idle(passEvery)
		l.consistent()

		// Passes stay frequent for those who ask again and again, and are no more frequent for that.
		l.idle(10 * time.Minute)
		x.next()
		before := x.count()
		for range 1000 {
			l.idle(100 * time.Millisecond)
			l.Wake()
		}
		if n := x.count() - before; n < 23 || n > 26 {
			l.Errorf("%d looks in 100 s", n)
		}
	})
}

// What changed lately is looked at often, for a while.
func TestRecentChanges(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; write a/f; mkdir b") }, func(l *lab) {
		l.idle(10 * time.Minute)
		x := l.times("a")
		l.do("write a/f")
		x.next()
		l.idle(50 * time.Millisecond)
		l.hush()
		for range 40 {
			l.idle(time.Second)
			start := time.Now()
			l.do("write a/f")
			l.idle(450 * time.Millisecond)
			if n := len(l.hush()); n != 1 {
				l.Errorf("%d batches %v after a change", n, time.Since(start))
			}
		}
		gaps := x.during(recentFor - time.Second)
		if n := len(gaps); n < 20 || n > 28 || slices.Max(gaps) > 0.5 {
			l.Errorf("between the looks are %.3v s", gaps)
		}
		l.idle(2 * time.Minute)
		x.next()
		x.about(x.during(65*time.Second), 28, 28)
	})
}

// However many directories change, no more than 64 are looked at in between passes, the last ones to change.
func TestRecentChangesAreBounded(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		for i := range 3 * recentMost {
			l.do(fmt.Sprintf("mkdir d%d", i))
		}
	}, func(l *lab) {
		l.idle(10 * time.Minute)
		for i := range 3 * recentMost {
			l.do(fmt.Sprintf("write d%d/f", i))
		}
		x := l.times("d0")
		x.next()
		l.idle(time.Second)
		var opened sync.Map
		l.onOpen(func(abs string) { opened.Store(abs, true) })
		l.idle(2 * time.Second)
		n := 0
		for range opened.Range {
			n++
		}
		if n != recentMost {
			l.Errorf("%d directories were looked at", n)
		}
		l.idle(time.Minute)
		l.consistent()
	})
}

// A pass that takes long rests as long, and does not keep what changed lately from being looked at.
func TestLongPass(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		for i := range 200 {
			l.do(fmt.Sprintf("mkdir d%d; write d%d/f", i, i))
		}
	}, func(l *lab) {
		const takes = 50 * time.Millisecond // 10 s for a pass
		var busy atomic.Int64
		l.onOpen(func(abs string) {
			time.Sleep(takes)
			busy.Add(int64(takes))
		})
		l.do("write d7/f")
		l.idle(25 * time.Second)
		l.consistent()
		busy.Store(0)
		start := time.Now()
		for i := range 60 {
			l.do("write d7/f")
			l.idle(3 * time.Second)
			if i > 8 { // a pass came upon it
				l.consistent()
			}
		}
		if took, busy := time.Since(start), time.Duration(busy.Load()); busy > took*6/10 || busy < took/4 {
			l.Errorf("looks took %v of %v", busy, took)
		}
	})
}

// Nothing is done while nothing is polled.
func TestPollerIsIdle(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		if next := l.poller.next(&pass{resume: time.Now()}); !next.IsZero() {
			l.Errorf("something is to be done in %v", time.Until(next))
		}
		if l.poller.next(&pass{running: true, resume: time.Now()}).IsZero() {
			l.Error("a pass keeps for ever what it had left when nothing was polled any more")
		}
		l.Wake()
		l.idle(time.Minute)
	})
}

// TestNewIsLookedAtSoon: a directory that comes to be polled after a long time in which nothing happened.
func TestNewIsLookedAtSoon(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a")
		l.maxWatches = 1
	}, func(l *lab) {
		l.idle(10 * time.Minute)
		l.times("a").next()
		l.idle(passEvery * 11 / 10)
		l.do("mkdir b")
		l.idle(time.Second)
		l.do("write b/f")
		l.idle(5 * time.Second)
		l.consistent()
	})
}
