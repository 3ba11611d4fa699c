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
