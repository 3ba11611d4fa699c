package watcher

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// sweepMost is after how long a pass of a small tree has told what it found.
const sweepMost = sweepEvery*11/10 + rootEvery*11/10 + time.Second

func TestSweepFindsNamesWithoutEvents(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; write a/b/f; mkdir c") }, func(l *lab) {
		l.idle(sweepMost)
		l.hush()
		for _, script := range []string{"write a/b/g", "rm a/b/f", "mv a/b/g a/b/h", "write new", "mkdir c/d; mkdir c/d/e; write c/d/e/f"} {
			l.silently(func() { l.do(script) })
			l.idle(sweepMost)
			l.consistent()
		}
		l.hush()
		l.idle(5 * time.Minute)
		if got := l.since(l.began); got != "" {
			l.Errorf("told %q though nothing changed", got)
		}
		if l.logged(string(unheardBegins)) != 1 || l.logged(string(unheardEnds)) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
	})
}

// TestSweepFindsWhatFollowsAnEvent: that stands for nothing that happens after the next pass.
func TestSweepFindsWhatFollowsAnEvent(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir c") }, func(l *lab) {
		for range 3 {
			l.do("write c/f; rm c/f")
			l.idle(sweepMost)
			l.silently(func() { l.do("write c/f") })
			l.idle(sweepMost)
			l.consistent()
			l.do("rm c/f")
			l.idle(sweepMost)
		}
	})
}

func TestSweepFindsOtherDirectories(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.tableless = true
		l.do("mkdir a; mkdir a/b; write a/b/f; mkdir c; mkdir c/d")
	}, func(l *lab) {
		l.silently(func() { l.do("swap a c; rmr a") })
		l.idle(sweepMost)
		l.consistent()
		l.do("mount c")
		l.idle(sweepMost)
		l.watches("", "c")
		l.consistent()
		l.tells("write c/g", "2ms c/g:content")
		l.do("umount c")
		l.idle(sweepMost)
		l.consistent()
		l.tells("write c/b/h", "2ms c/b/h:content")
	})
}

// TestSweepLeavesToEventsWhatTheyTold: nothing is scanned because of it, however the passes fall.
func TestSweepLeavesToEventsWhatTheyTold(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir d; mkdir quiet") }, func(l *lab) {
		l.hush()
		for i := range 1500 {
			l.do(fmt.Sprintf("write a/b/f%d; write d/g; rm d/g; touch quiet; chmod 0 d", i))
			l.idle(97 * time.Millisecond)
		}
		l.do("mv a e; mkdir a; mkdir x; mv d x/d")
		l.idle(time.Minute)
		rescans := 0
		for _, b := range l.hush() {
			rescans += len(b.Rescan)
		}
		if rescans != 3 || l.logged("level=") != 0 { // a, e and x, which are new
			l.Errorf("%d rescans, logged:\n%s", rescans, &l.log)
		}
		l.consistent()
	})
}

// hookedDisk calls hook once before a look at path.
type hookedDisk struct {
	disk
	path string
	hook atomic.Pointer[func()]
}

func (d *hookedDisk) stat(path string, follow bool) (stat, error) {
	if path == d.path {
		if hook := d.hook.Swap(nil); hook != nil {
			(*hook)()
		}
	}
	return d.disk.stat(path, follow)
}

// TestSweepLetsEventsGoFirst: a pass that comes upon something whose event is on its way leaves it to that, also when the
// event has to wait for its turn.
func TestSweepLetsEventsGoFirst(t *testing.T) {
	for _, busy := range []time.Duration{0, 2 * time.Second, time.Minute} {
		d := &hookedDisk{}
		bubble(t, Options{}, func(l *lab) {
			l.wrap = func(inner disk) disk { d.disk, d.path = inner, l.at("a"); return d }
			l.do("mkdir a; mkdir a/b; mkdir c; mkdir c/e")
		}, func(l *lab) {
			for _, script := range []string{"write a/f", "rmr a; mkdir a; write a/g"} {
				l.hush()
				l.each(func(Batch) { time.Sleep(busy) })
				did := false
				hook := func() {
					if busy > 0 {
						l.do("write other")
						time.Sleep(10 * time.Millisecond) // the loop takes that, and is busy with it
					}
					l.do(script)
					did = true
				}
				d.hook.Store(&hook)
				l.idle(sweepMost + 10*busy)
				if !did {
					l.Fatal("no sweep looked")
				}
				l.each(nil)
				l.consistent()
				for _, b := range l.hush() {
					if len(b.Rescan) > 0 && script == "write a/f" {
						l.Errorf("%s: told %v because of the sweep", script, b.Batch)
					}
				}
			}
			if l.logged("level=") > 0 {
				l.Errorf("logged:\n%s", &l.log)
			}
		})
	}
}

// slowDisk takes its time for each look at a directory below the root, and counts them.
type slowDisk struct {
	disk

	mu    sync.Mutex // guards what follows
	takes func(path string) time.Duration
	looks map[string]int
}

func (d *slowDisk) stat(path string, follow bool) (stat, error) {
	d.mu.Lock()
	takes := d.takes
	if !follow && takes != nil {
		d.looks[path]++
	}
	d.mu.Unlock()
	if !follow && takes != nil {
		time.Sleep(takes(path))
	}
	return d.disk.stat(path, follow)
}

func (d *slowDisk) facts(path string, follow bool) (facts, error) {
	d.mu.Lock()
	takes := d.takes
	d.mu.Unlock()
	if takes != nil {
		time.Sleep(takes(path))
	}
	return d.disk.facts(path, follow)
}

func (d *slowDisk) slow(takes func(path string) time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takes = takes
}

// counts returns how often each path was looked at.
func (d *slowDisk) counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.looks)
}

func TestSweepCostsOnePercent(t *testing.T) {
	const dirs = 5000
	const takes = 100 * time.Microsecond
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		for i := range dirs {
			l.must(l.mkdir(l.at(fmt.Sprint("d", i))))
		}
	}, func(l *lab) {
		d.slow(func(string) time.Duration { return takes })
		l.idle(10 * time.Minute)
		looks, least := 0, math.MaxInt
		counts := d.counts()
		for _, n := range counts {
			looks += n
			least = min(least, n)
		}
		if len(counts) != dirs || least < 5 {
			l.Errorf("%d directories were looked at, one %d times only", len(counts), least)
		}
		if busy := time.Duration(looks) * takes; busy > 10*time.Minute/100 {
			l.Errorf("%v of 10 minutes were spent on it", busy)
		}
	})
}

// TestSweepComesAroundInTime: the time of a pass is part of the 20 s.
func TestSweepComesAroundInTime(t *testing.T) {
	const dirs = 5000
	const takes = 30 * time.Microsecond // so that a pass takes 15 s
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		for i := range dirs {
			l.must(l.mkdir(l.at(fmt.Sprint("d", i))))
		}
	}, func(l *lab) {
		d.slow(func(string) time.Duration { return takes })
		l.idle(10 * time.Minute)
		const passes = 10 * time.Minute / sweepMost
		if n := d.counts()[l.at("d0")]; n < int(passes) {
			l.Errorf("looked at %d times in 10 minutes, not %d", n, passes)
		}
	})
}

// TestSweepHoldsUpNobody: an event is told at once while a disk does not answer.
func TestSweepHoldsUpNobody(t *testing.T) {
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		l.do("mkdir a; mkdir b")
	}, func(l *lab) {
		d.slow(func(path string) time.Duration {
			if path == l.at("b") {
				return time.Hour
			}
			return 0
		})
		l.idle(sweepMost)
		if looks := d.counts(); looks[l.at("b")] != 1 {
			l.Fatalf("looked at: %v", looks)
		}
		l.hush()
		start := time.Now()
		l.must(l.write(l.at("a/f")))
		l.idle(10 * time.Millisecond)
		if got := l.since(start); !strings.HasPrefix(got, "2ms a/f:content") {
			l.Errorf("told %q", got)
		}
	})
}

// TestSweepIsNotHeldUpForLong: a disk that answers slowly costs no processor.
func TestSweepIsNotHeldUpForLong(t *testing.T) {
	const dirs = 3 * sweepPiece
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		for i := range dirs {
			l.must(l.mkdir(l.at(fmt.Sprint("d", i))))
		}
	}, func(l *lab) {
		d.slow(func(string) time.Duration { return 100 * time.Millisecond })
		l.idle(2 * time.Minute)
		if counts := d.counts(); len(counts) < dirs {
			l.Errorf("%d directories were looked at", len(counts))
		}
	})
}

// TestSweepLeavesToThePollerWhatItLooksAt: nothing is looked at by both.
func TestSweepLeavesToThePollerWhatItLooksAt(t *testing.T) {
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		l.do("mkdir a")
	}, func(l *lab) {
		d.slow(func(string) time.Duration { return 0 })
		l.idle(sweepMost)
		if counts := d.counts(); len(counts) > 0 {
			l.Errorf("looked at: %v", counts)
		}
	})
}

// TestSweepTakesNoErrorForAChange: a directory that cannot be looked at may be as it was.
func TestSweepTakesNoErrorForAChange(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		l.hush()
		l.fail(syscall.EIO, nil, 0)
		l.idle(sweepMost)
		l.fail(nil, nil, 0)
		l.idle(sweepMost)
		if got := l.since(l.began); got != "" || l.logged("level=") > 0 {
			l.Errorf("told %q, logged:\n%s", got, &l.log)
		}
	})
}

// TestSweepMissesNone: whatever is registered and dropped while a pass is under way.
func TestSweepMissesNone(t *testing.T) {
	for drops := range 40 {
		r := newRegistry()
		r.add("", identity{1, 1})
		for i := range 100 {
			r.add(fmt.Sprint(i), identity{1, uint64(2 + i)})
		}
		seen := map[string]bool{}
		into := make([]*node, 7)
		dropped := map[string]bool{}
		for at, round := math.MaxInt, 0; at > 0; round++ {
			var nodes []*node
			nodes, at = r.piece(into, at)
			for _, n := range nodes {
				seen[n.path] = true
			}
			for i := range drops % 5 {
				path := fmt.Sprint((round*13 + i*29 + drops) % 100)
				dropped[path] = true
				r.remove(path)
			}
			r.add(fmt.Sprint("new", round), identity{2, uint64(round)})
		}
		for i := range 100 {
			if path := fmt.Sprint(i); !seen[path] && !dropped[path] {
				t.Errorf("with %d drops: %q was not looked at", drops, path)
			}
		}
		if watched, _ := r.count(); watched != len(r.watched()) || slices.Contains(r.order, nil) {
			t.Errorf("%d in order, %d watched", watched, len(r.watched()))
		}
	}
}
