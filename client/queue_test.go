package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// drained returns what a queue hands out, in words.
func drained(q *queue) (events []string) {
	for {
		e, ok := q.pull()
		if !ok {
			return events
		}
		events = append(events, inWords(e))
	}
}

func TestASlowConsumerIsOwedASet(t *testing.T) {
	r := func(uri string) *Resource { return &Resource{URI: uri} }
	live, lost := Event{Kind: Live}, Event{Kind: Lost, Err: errors.New("x")}
	for name, c := range map[string]struct {
		do   func(q *queue)
		want []string
	}{
		"updated twice":                    {func(q *queue) { q.updated("a", false); q.updated("b", false); q.updated("a", false) }, []string{"updated a", "updated b"}},
		"added, then updated":              {func(q *queue) { q.added(r("a"), false, 0); q.updated("a", false) }, []string{"added a"}},
		"added, then updated for itself":   {func(q *queue) { q.added(r("a"), true, 0); q.updated("a", true) }, []string{"added a", "updated a"}},
		"added, then removed":              {func(q *queue) { q.added(r("a"), false, 0); q.removed("a", false, 0) }, nil},
		"added, looked at, then removed":   {func(q *queue) { q.added(r("a"), false, 0); q.removed("a", false, 1) }, []string{"removed a"}},
		"added, removed, then updated":     {func(q *queue) { q.added(r("a"), false, 0); q.removed("a", false, 0); q.updated("a", false) }, []string{"updated a"}},
		"added, removed, then added":       {func(q *queue) { q.added(r("a"), false, 0); q.removed("a", false, 0); q.added(r("a"), false, 0) }, []string{"added a"}},
		"removed, then added":              {func(q *queue) { q.removed("a", false, 0); q.added(r("a"), false, 0) }, []string{"removed a", "added a"}},
		"removed, added, removed":          {func(q *queue) { q.removed("a", false, 0); q.added(r("a"), false, 0); q.removed("a", false, 0) }, []string{"removed a"}},
		"updated, then removed":            {func(q *queue) { q.updated("a", false); q.removed("a", false, 0) }, []string{"removed a"}},
		"updated for itself, then removed": {func(q *queue) { q.updated("a", true); q.removed("a", true, 0) }, []string{"removed a", "updated a"}},
		"tools twice":                      {func(q *queue) { q.changed(ToolsChanged); q.changed(ToolsChanged) }, []string{"tools changed"}},
		"lost, then live":                  {func(q *queue) { q.lost(lost); q.live(live) }, []string{"lost 0 0s", "live 0 0 0"}},
		"live, then lost":                  {func(q *queue) { q.live(live); q.lost(lost) }, []string{"lost 0 0s"}},
		"lost, live, lost, live": {func(q *queue) { q.lost(lost); q.live(live); q.lost(lost); q.live(live) },
			[]string{"lost 0 0s", "live 0 0 0"}},
		"what comes between lost and live is told after": {func(q *queue) { q.updated("a", false); q.lost(lost); q.updated("b", false); q.live(live) },
			[]string{"updated a", "lost 0 0s", "live 0 0 0", "updated b"}},
		"what came after a live that was taken back waits for the next": {func(q *queue) { q.lost(lost); q.live(live); q.updated("a", false); q.lost(lost) },
			[]string{"lost 0 0s"}},
		"unlive": {func(q *queue) { q.lost(lost); q.live(live); q.updated("a", false); q.unlive() }, []string{"lost 0 0s"}},
	} {
		q := newQueue(10)
		q.live(live)
		drained(q)
		c.do(q)
		if got := drained(q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if q.shut {
			q.live(live)
			drained(q)
		}
		if len(q.items) > 0 || len(q.order) > 0 || len(q.held) > 0 {
			t.Errorf("%s: %d items are left, %d in order, %d held", name, len(q.items), len(q.order), len(q.held))
		}
	}
}

// A server that notifies faster than Next is called keeps nothing else from being told.
func TestNotificationsTakeTurnsWithTheRest(t *testing.T) {
	q := newQueue(10)
	q.live(Event{Kind: Live})
	drained(q)
	for range 3 {
		q.notify("x", nil)
	}
	q.updated("a", false)
	q.updated("b", false)
	q.lost(Event{Kind: Lost})
	want := []string{"notification x 0", "updated a", "notification x 0", "updated b", "notification x 0", "lost 0 0s"}
	if got := drained(q); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMemoryOfTheQueueIsBounded(t *testing.T) {
	q := newQueue(5)
	q.live(Event{Kind: Live})
	for i := range 10_000 {
		q.updated(fmt.Sprint(i%7), false)
		q.notify("x", nil)
		q.lost(Event{Kind: Lost})
		passing := fmt.Sprint("passing ", i) // a name that comes and goes
		q.added(&Resource{URI: passing}, false, 0)
		q.removed(passing, false, 0)
		q.live(Event{Kind: Live})
		q.updated(passing, true)
		q.forget(func(_ Kind, uri string) bool { return uri == passing })
	}
	if q.order = slices.DeleteFunc(q.order, func(it *item) bool { return q.items[it.key] != it }); q.empty > 2000 {
		t.Errorf("%d items are empty", q.empty)
	}
	if len(q.items) > 9 || len(q.order) > 9 || len(q.notes) > 5 {
		t.Errorf("%d items, %d in order, %d notes", len(q.items), len(q.order), len(q.notes))
	}
	missed := 0
	for e, ok := q.pull(); ok; e, ok = q.pull() {
		missed += e.Missed
	}
	if missed != 9_995 {
		t.Errorf("%d were missed, and it is not said", missed)
	}
}

// TestNotificationsThatWaitAreNotTooHeavy: a server may make each of them as long as a message can be.
func TestNotificationsThatWaitAreNotTooHeavy(t *testing.T) {
	q := newQueue(1000)
	q.live(Event{Kind: Live})
	huge := make([]byte, maxNoteBytes/2)
	for range 5 {
		q.notify("x", huge)
	}
	q.notify("y", make([]byte, maxNoteBytes+1)) // the only one may be
	if len(q.notes) != 1 || q.missed != 5 {
		t.Errorf("%d wait, %d were missed", len(q.notes), q.missed)
	}
	for range 5 {
		q.notify("x", huge[1:]) // with the method it is no more than half
	}
	if len(q.notes) != 2 || q.missed != 9 {
		t.Errorf("%d wait, %d were missed", len(q.notes), q.missed)
	}
	if got := drained(q); len(got) != 3 || q.heavy != 0 {
		t.Errorf("told %q, and %d bytes count still", got, q.heavy)
	}
}
