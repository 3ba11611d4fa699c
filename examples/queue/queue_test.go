package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTick: what is announced is what can be read, at every tick.
func TestTick(t *testing.T) {
	q := New()
	known := q.URIs()
	for range 500 {
		before := map[string]string{}
		for _, uri := range known {
			before[uri], _ = q.Read(uri)
		}
		c := q.Tick()
		known = slices.DeleteFunc(append(known, c.Added...), func(uri string) bool { return slices.Contains(c.Removed, uri) })
		if got := q.URIs(); !slices.Equal(got, known) {
			t.Fatalf("there is %q, announced was %q", got, known)
		}
		for uri, text := range before {
			now, found := q.Read(uri)
			if found != q.Has(uri) || found == slices.Contains(c.Removed, uri) {
				t.Errorf("%s can be read: %v, after %+v", uri, found, c)
			}
			if found && (now != text) != slices.Contains(c.Updated, uri) {
				t.Errorf("%s was %s and is %s, after %+v", uri, text, now, c)
			}
		}
	}
}

// TestEnded: who asks in time learns of each job that ended, in order and with its outcome; who is late of the last ones.
func TestEnded(t *testing.T) {
	q := New()
	var removed []string
	n := 0
	for q.Count() < 2*remembered {
		removed = append(removed, q.Tick().Removed...)
		for n < q.Count() {
			j, next, err := q.Ended(t.Context(), n)
			if err != nil || next != n+1 || j.URI() != removed[n] || j.Done != j.Steps || j.Failed != (j.Number%3 == 0) {
				t.Fatalf("job %d that ended is %+v, next is %d: %v; %s was removed", n, j, next, err, removed[n])
			}
			n = next
		}
	}
	if n != len(removed) || n <= remembered {
		t.Fatalf("%d have ended, %d were removed", n, len(removed))
	}
	j, next, err := q.Ended(t.Context(), 0)
	if want := n - remembered; err != nil || next != want+1 || j.URI() != removed[want] {
		t.Errorf("who is late is told of %+v, next is %d: %v; want %s", j, next, err, removed[want])
	}
}

// TestEndedWaits: for a job, or for the end of its context.
func TestEndedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		var got []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := 0; ; {
				j, next, err := q.Ended(ctx, n)
				if err != nil {
					got = append(got, err.Error())
					return
				}
				got = append(got, fmt.Sprint(j.Number, " at ", q.ticks))
				n = next
			}
		})
		for range 5 {
			synctest.Wait()
			q.Tick()
		}
		synctest.Wait()
		cancel(over)
		wg.Wait()
		if want := []string{"2 at 3", "1 at 5", "over"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestRun: a tick an interval, until the context ends.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		ticks := 0
		New().Run(ctx, time.Second, func(c Change) {
			ticks++
			if !slices.Contains(c.Updated, Clock) {
				t.Errorf("tick %d has changed %+v", ticks, c)
			}
		})
		if ticks != 10 {
			t.Errorf("%d ticks in ten seconds", ticks)
		}
	})
}
