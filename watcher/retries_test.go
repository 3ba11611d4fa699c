package watcher

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// fails has the consumer fail on each batch that names one of paths, with the given answer, and returns when that was.
func (l *lab) fails(answer []string, paths ...string) *[]time.Time {
	var at []time.Time
	l.each(func(b Batch) {
		for _, path := range paths {
			if slices.Contains(b.Rescan, path) || slices.ContainsFunc(b.Dirty, func(d Dirty) bool { return d.Path == path }) {
				at = append(at, time.Now())
				l.reply.Retry = answer
				return
			}
		}
	})
	return &at
}

// near allows for what jitter adds and takes.
func near(got, want time.Duration) bool { return got >= want-want/16 && got <= want+want/16 }

func TestRetryWaitsLongerEachTime(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		at := l.fails([]string{"f"}, "f")
		l.do("write f")
		l.idle(3 * time.Minute)
		want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, retryMost, retryMost}
		if len(*at) < len(want)+1 {
			l.Fatalf("named at %v", *at)
		}
		for i, w := range want {
			if got := (*at)[i+1].Sub((*at)[i]); !near(got, w) {
				l.Errorf("named for the %d. time after %v, not %v", i+2, got, w)
			}
		}

		// Others do not wait for it.
		at = l.fails([]string{"g"}, "g")
		l.do("write g")
		l.idle(1100 * time.Millisecond)
		if len(*at) != 2 {
			l.Errorf("named at %v", *at)
		}

		// What succeeds is not named again, and is new when it fails again.
		l.each(nil)
		l.idle(time.Minute)
		l.hush()
		l.idle(5 * time.Minute)
		if told := l.hush(); len(told) > 0 {
			l.Errorf("told %v", told)
		}
		at = l.fails([]string{"f"}, "f")
		l.do("write f")
		l.idle(1100 * time.Millisecond)
		if len(*at) != 2 {
			l.Errorf("named at %v", *at)
		}
	})
}

func TestRetryOfPathsInAnyOrder(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f; mkdir ab") }, func(l *lab) {
		l.fails([]string{"f", "a/f", "ab", "a", "f"}, "f")
		l.do("write f")
		l.idle(100 * time.Millisecond)
		l.each(nil)
		l.hush()
		l.idle(time.Second)
		if told := l.hush(); len(told) != 1 || len(told[0].Dirty) > 0 || !slices.Equal(told[0].Rescan, []string{"a", "ab", "f"}) {
			l.Errorf("told %v", told)
		}
	})
}

// The consumer gets one level further each time.
func TestRetryBelowWhatWasRetried(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		at := l.fails([]string{"a"}, "a")
		l.do("chmod 0 a")
		l.idle(500 * time.Millisecond)
		l.fails([]string{"a/f"}, "a")
		l.idle(600 * time.Millisecond)
		next := l.fails(nil, "a/f")
		l.idle(5 * time.Second)
		if len(*at) != 1 || len(*next) != 1 || !near((*next)[0].Sub((*at)[0]), 3*time.Second) {
			l.Errorf("failed at %v and %v", *at, *next)
		}
	})
}

// A path that fails in batch after batch has its turn all the same.
func TestRetryOfNoisyPath(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.fails([]string{"log"}, "log")
		for range 550 {
			l.do("write log")
			l.idle(10 * time.Millisecond)
		}
		var rescans int
		for _, b := range l.hush() {
			if slices.Equal(b.Rescan, []string{"log"}) {
				rescans++
			}
		}
		if rescans != 2 {
			l.Errorf("named again %d times in 5.5 s, not after 1 and 2 s", rescans)
		}
	})
}

// The consumer gave up on everything, and goes on to fail on one path after another.
func TestRetryOfEverythingCoversTheRest(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.fails([]string{""}, "f")
		l.do("write f")
		l.idle(200 * time.Millisecond)
		for i := range 100 {
			file := fmt.Sprintf("f%d", i)
			l.fails([]string{file}, file)
			l.do("write " + file)
			l.idle(5 * time.Millisecond)
		}
		l.each(nil)
		l.hush()
		l.idle(time.Minute)
		if told := l.hush(); len(told) != 1 || !slices.Equal(told[0].Rescan, []string{""}) {
			l.Errorf("told %d batches", len(told))
		}
	})
}

// What fails without end is kept apart up to a number, as the pump does, and all of it is named again.
func TestRetriesAreBounded(t *testing.T) {
	var r retries
	now := time.Unix(1, 0)
	for i := range 8 {
		var failed []string
		for j := range maxPaths / 4 {
			failed = append(failed, fmt.Sprintf("d%d/f%d", i, j))
		}
		r.answer(failed, now)
	}
	if n := len(r.held); n > maxPaths {
		t.Errorf("%d are held", n)
	}
	if got := r.due(now.Add(2 * retryFirst)); !slices.Contains(got, "") {
		t.Errorf("named again are %d without the root", len(got))
	}
}

// A path below one that is named again no later needs no turn of its own, in whatever order they came.
func TestRetryHoldsNoneBelowAnother(t *testing.T) {
	var r retries
	now := time.Unix(1, 0)
	r.answer([]string{"a/f"}, now)
	r.answer([]string{"a"}, now.Add(time.Minute))
	r.answer([]string{"a/b/g"}, now.Add(2*time.Minute))
	if len(r.held) != 2 {
		t.Errorf("held are %v", r.held)
	}
	if got := r.due(now.Add(2 * time.Second)); !slices.Equal(got, []string{"a/f"}) {
		t.Errorf("named again first: %q", got)
	}
	r.answer([]string{"a/f"}, now.Add(2*time.Second)) // the next turn of both comes before that of what is above
	r.answer([]string{""}, now.Add(3500*time.Millisecond))
	if _, kept := r.held["a"]; kept || len(r.held) != 2 {
		t.Errorf("held are %v", r.held)
	}
}
