package listen_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// record pulls s as a carrier with a timer does, until it is over, and notes what was said when.
type record struct {
	start time.Time
	woken chan struct{} // 1 place; Wake fills it
	lines []string
}

func (r *record) Wake(*listen.Stream) {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

func (r *record) pull(t *testing.T, s *listen.Stream) {
	var timer <-chan time.Time
	for {
		said, wait := drain(t, s, time.Now())
		for _, what := range said {
			r.lines = append(r.lines, fmt.Sprintf("%v %s", time.Since(r.start), what))
		}
		switch {
		case wait == listen.Over:
			return
		case wait > 0:
			timer = time.After(wait)
		default:
			timer = nil
		}
		select {
		case <-r.woken:
		case <-timer:
		}
	}
}

// paced runs events against one stream with default pacing and returns what was said when.
func paced(t *testing.T, f listen.Filter, events func(h *listen.Hub, s *listen.Stream)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := listen.NewHub(nil)
		r := &record{start: time.Now(), woken: make(chan struct{}, 1)}
		s := open(t, h, `1`, f, r)
		finished := make(chan struct{})
		go func() {
			r.pull(t, s)
			close(finished)
		}()
		synctest.Wait()
		events(h, s)
		synctest.Wait()
		s.Cancel()
		r.Wake(s)
		<-finished
		lines = r.lines
	})
	return lines
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("said\n%q\nwant\n%q", got, want)
	}
}

func TestFirstChangeAfterQuietIsDueAtOnce(t *testing.T) {
	got := paced(t, uris("a"), func(h *listen.Hub, s *listen.Stream) {
		for range 3 {
			time.Sleep(time.Second)
			publish(h, "a")
		}
	})
	check(t, got, "0s ack", "1s a", "2s a", "3s a")
}

func TestUpdatedComesAtMostEvery50ms(t *testing.T) {
	got := paced(t, uris("a"), func(h *listen.Hub, s *listen.Stream) {
		for range 12 {
			publish(h, "a")
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
	})
	check(t, got, "0s ack", "0s a", "50ms a", "100ms a", "150ms a") // the last change was at 110 ms
}

func TestListChangedComesAtMostEvery500ms(t *testing.T) {
	got := paced(t, listen.Filter{ResourcesListChanged: true}, func(h *listen.Hub, s *listen.Stream) {
		for range 12 {
			h.Publish(listen.Change{List: true})
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
	})
	check(t, got, "0s ack", "0s "+methodList, "500ms "+methodList, "1s "+methodList, "1.5s "+methodList)
}

func TestOneTrailingNotificationFollowsTheLastChange(t *testing.T) {
	got := paced(t, uris("a"), func(h *listen.Hub, s *listen.Stream) {
		publish(h, "a")
		synctest.Wait()
		time.Sleep(time.Millisecond)
		publish(h, "a")
		publish(h, "a")
		time.Sleep(time.Hour)
	})
	check(t, got, "0s ack", "0s a", "50ms a")
}

func TestNoisyURIDelaysNoOther(t *testing.T) {
	got := paced(t, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"noisy", "calm"}}, func(h *listen.Hub, s *listen.Stream) {
		for i := range 10 {
			publish(h, "noisy")
			synctest.Wait()
			time.Sleep(7 * time.Millisecond)
			publish(h, "noisy")
			switch i {
			case 1:
				publish(h, "calm")
			case 2:
				h.Publish(listen.Change{List: true})
			case 8:
				publish(h, "calm")
			}
			synctest.Wait()
		}
	})
	check(t, got, "0s ack", "0s noisy", "14ms calm", "21ms "+methodList, "50ms noisy", "64ms calm")
}

func TestPacingIsPerStream(t *testing.T) {
	h := listen.NewHub(nil)
	now := time.Now()
	a, b := open(t, h, `1`, uris("x"), &counter{}), open(t, h, `2`, uris("x"), &counter{})
	drain(t, a, now)
	publish(h, "x")
	drain(t, a, now)
	publish(h, "x")
	if said, wait := drain(t, a, now.Add(time.Millisecond)); said != nil || wait != 49*time.Millisecond {
		t.Errorf("the stream that was told is told %q, %v", said, wait)
	}
	if said, _ := drain(t, b, now.Add(time.Millisecond)); !slices.Equal(said, []string{"ack", "x"}) {
		t.Errorf("the stream that was not is told %q", said)
	}
}

func TestPacingOptions(t *testing.T) {
	now := time.Now()
	f := listen.Filter{ResourcesListChanged: true, ToolsListChanged: true, ResourceSubscriptions: []string{"a"}}
	change := listen.Change{List: true, Tools: true, Keys: []string{"a"}}
	for _, c := range []struct {
		o    listen.Options
		wait time.Duration
		said int
	}{
		{listen.Options{}, 50 * time.Millisecond, 0},
		{listen.Options{UpdateInterval: time.Hour, ListInterval: time.Minute}, time.Minute, 0},
		{listen.Options{UpdateInterval: -1}, 500 * time.Millisecond, 1},
		{listen.Options{UpdateInterval: -1, ListInterval: -1}, 0, 3},
	} {
		h := listen.NewHub(&c.o)
		s := open(t, h, `1`, f, &counter{})
		h.Publish(change)
		drain(t, s, now)
		h.Publish(change)
		if said, wait := drain(t, s, now); len(said) != c.said || wait != c.wait {
			t.Errorf("%+v: said %q, wait %v", c.o, said, wait)
		}
	}
}
