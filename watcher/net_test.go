package watcher

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// looker answers Options.Look, and remembers when it was asked.
type looker struct {
	mu      sync.Mutex // guards what follows
	changed []string
	looked  int
	takes   time.Duration
	asked   []time.Time
}

func (k *looker) look(ctx context.Context, most int) ([]string, int) {
	k.mu.Lock()
	changed, looked, takes := k.changed, min(k.looked, most), k.takes
	k.asked, k.changed = append(k.asked, time.Now()), nil
	k.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	return changed, looked
}

func (k *looker) set(looked int, takes time.Duration, changed ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked, k.takes, k.changed, k.asked = looked, takes, changed, nil
}

// gaps returns how long it was between the questions.
func (k *looker) gaps() (gaps []time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := 1; i < len(k.asked); i++ {
		gaps = append(gaps, k.asked[i].Sub(k.asked[i-1]))
	}
	return gaps
}

func (k *looker) asks() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.asked)
}

func (l *lab) wantGaps(k *looker, least, most time.Duration) {
	l.Helper()
	gaps := k.gaps()
	if len(gaps) == 0 || slices.Min(gaps) < least || slices.Max(gaps) > most {
		l.Errorf("between the rounds: %v, not %v to %v", gaps, least, most)
	}
}

func TestNetNamesWhatChangedWithoutAnEvent(t *testing.T) {
	k := &looker{}
	bubble(t, Options{Look: k.look}, func(l *lab) {
		l.do("mkdir d; write d/f; write g")
	}, func(l *lab) {
		l.hush()
		k.set(2, 0, "g", "d/f")
		l.idle(3 * time.Second)
		var got []string
		for _, b := range l.hush() {
			got = append(got, fmt.Sprint(b.Batch))
		}
		if want := []string{fmt.Sprint(Batch{Dirty: []Dirty{{"d/f", Attribute}, {"g", Attribute}}})}; !slices.Equal(got, want) {
			l.Errorf("told %v, not once %v", got, want)
		}
	})
}

// TestNetHasRounds: while there is something to look at. Otherwise it is asked when the root is looked at.
func TestNetHasRounds(t *testing.T) {
	k := &looker{}
	bubble(t, Options{Look: k.look}, nil, func(l *lab) {
		l.idle(time.Minute)
		l.wantGaps(k, rootEvery*9/10, rootEvery*11/10)
		k.set(5, 0)
		l.idle(3 * time.Second)
		k.set(5, 0)
		l.idle(time.Minute)
		l.wantGaps(k, time.Second, 2*time.Second)
		k.set(5, time.Second)
		l.idle(5 * time.Minute)
		l.wantGaps(k, time.Second, (lookRest+1)*time.Second)
		if gaps := k.gaps(); slices.Max(gaps) < lookRest*time.Second {
			l.Errorf("rounds that take a second follow each other in %v", gaps)
		}
		k.set(0, 0)
		l.idle(20 * time.Second)
		k.set(0, 0)
		l.idle(time.Minute)
		l.wantGaps(k, rootEvery*9/10, rootEvery*11/10)
	})
}

// TestNetIsAskedBeforeThereIsAnything to look at: who subscribes where directories are polled wakes the watcher first.
func TestNetIsAskedBeforeThereIsAnything(t *testing.T) {
	k := &looker{}
	bubble(t, Options{Look: k.look, Poll: true}, nil, func(l *lab) {
		l.idle(rootEvery * 11 / 10)
		for range 5 {
			k.set(0, 0)
			l.Wake()
			l.idle(lookPolled * 11 / 10)
			if n := k.asks(); n < 2 {
				l.Errorf("it was asked %d times, not twice", n)
			}
			l.idle(rootEvery * 3 / 2)
		}
	})
}

// TestNetIsBounded: it asks for no more than 10,000 looks in a round.
func TestNetIsBounded(t *testing.T) {
	var most []int
	bubble(t, Options{Look: func(_ context.Context, n int) ([]string, int) {
		most = append(most, n)
		return nil, n
	}}, nil, func(l *lab) { l.idle(10 * time.Second) })
	if len(most) < 5 || slices.Max(most) > 10_000 {
		t.Errorf("asked for %v", most)
	}
}

// TestNetHoldsUpNobody: an event is told at once, and Run ends, while a disk does not answer.
func TestNetHoldsUpNobody(t *testing.T) {
	k := &looker{}
	k.set(1, time.Hour)
	bubble(t, Options{Look: k.look}, nil, func(l *lab) {
		l.idle(5 * time.Second)
		l.hush()
		start := time.Now()
		l.do("write f")
		l.idle(10 * time.Millisecond)
		l.toldSince(start, "2ms f:content")
	})
}

// TestNetLetsEventsGoFirst: a round that comes upon a write whose event is on its way names it after that.
func TestNetLetsEventsGoFirst(t *testing.T) {
	k := &looker{}
	bubble(t, Options{Look: k.look}, func(l *lab) { l.do("write f") }, func(l *lab) {
		k.set(1, 0)
		l.idle(10 * time.Second)
		l.hush()
		k.set(1, 0, "f")
		for k.asks() == 0 {
			l.idle(time.Millisecond)
		}
		start := time.Now()
		l.do("write f")
		l.idle(time.Second)
		told := l.hush()
		if len(told) != 2 || told[0].Dirty[0].Evidence != Content || told[1].Dirty[0].Evidence != Attribute ||
			l.began.Add(told[1].at).Sub(start) < eventsFirst-time.Millisecond {
			l.Errorf("told %v", told)
		}
	})
}

// TestNetLooksAgainAfterASlowDisk: a round that took an hour does not have the next one wait for ten.
func TestNetLooksAgainAfterASlowDisk(t *testing.T) {
	k := &looker{}
	bubble(t, Options{Look: k.look}, nil, func(l *lab) {
		k.set(5, time.Hour)
		l.idle(3 * time.Hour)
		l.wantGaps(k, time.Hour, time.Hour+lookLate)
	})
}

// TestNetMakesNoBurst: however many paths a round finds, each is named by itself, and a save meanwhile is told at once.
func TestNetMakesNoBurst(t *testing.T) {
	k := &looker{}
	var many []string
	for i := range 2 * maxPaths {
		many = append(many, fmt.Sprintf("d/%d", i))
	}
	bubble(t, Options{Look: k.look}, func(l *lab) {
		l.do("mkdir d; write f")
		for _, path := range many {
			l.must(l.write(l.at(path)))
		}
	}, func(l *lab) {
		k.set(len(many), 0)
		l.idle(10 * time.Second)
		l.hush()
		k.set(len(many), 0, many...)
		for k.asks() == 0 {
			l.idle(time.Millisecond)
		}
		l.idle(time.Second)
		start := time.Now()
		l.do("write f")
		l.idle(2 * most)
		saved := false
		named := map[string]bool{}
		for wait := range 2 {
			for _, b := range l.hush() {
				if len(b.Rescan) > 0 {
					t.Fatalf("looked through %q", b.Rescan)
				}
				for _, d := range b.Dirty {
					named[d.Path] = true
					saved = saved || d == (Dirty{"f", Content}) && l.began.Add(b.at).Sub(start) <= most
				}
			}
			if wait == 0 {
				l.idle(20 * time.Second)
			}
		}
		if !saved {
			t.Error("the save was not told at once")
		}
		if len(named) != len(many)+1 {
			t.Errorf("named %d paths of %d", len(named)-1, len(many))
		}
	})
}

// TestNetIsQuickWhilePolling: its rounds are what subscribed files depend on where there are no events, and they begin when
// somebody asks.
func TestNetIsQuickWhilePolling(t *testing.T) {
	k := &looker{}
	bubble(t, Options{Look: k.look, Poll: true}, nil, func(l *lab) {
		l.idle(time.Minute)
		for k.set(0, 0); k.asks() == 0; { // until just after it has been asked
			l.idle(time.Millisecond)
		}
		k.set(5, 0)
		l.Wake()
		l.idle(time.Millisecond)
		if k.asks() != 1 {
			l.Error("it did not begin at once")
		}
		l.idle(time.Minute)
		l.wantGaps(k, lookPolled*9/10, 500*time.Millisecond)
		k.set(5, 100*time.Millisecond)
		l.idle(5 * time.Minute)
		l.wantGaps(k, lookPolled*9/10, (lookRest+1)*100*time.Millisecond)
	})
}
