package listen_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestAcknowledgementIsFirst(t *testing.T) {
	h := listen.NewHub(nil)
	stop := make(chan struct{})
	var publishers sync.WaitGroup
	for range 2 {
		publishers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					h.Publish(listen.Change{List: true, Keys: []string{"a", "a/b"}})
				}
			}
		})
	}
	for i := range 300 {
		f := listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "a/b"}}
		s := open(t, h, fmt.Sprint(i), f, &counter{})
		publish(h, "a/b")
		said, _ := drain(t, s, time.Now())
		if len(said) < 3 || said[0] != "ack" || slices.Contains(said[1:], "ack") {
			t.Fatalf("said %q", said)
		}
		s.Cancel()
	}
	close(stop)
	publishers.Wait()
}

func TestFreshStreamIsWokenOnce(t *testing.T) {
	h := listen.NewHub(nil)
	var modern, empty, legacy counter
	open(t, h, `1`, uris("a"), &modern)
	open(t, h, `2`, listen.Filter{}, &empty)
	open(t, h, ``, uris("a"), &legacy)
	if modern.wakes.Load() != 1 || empty.wakes.Load() != 1 || legacy.wakes.Load() != 0 {
		t.Errorf("woken %d, %d and %d times", modern.wakes.Load(), empty.wakes.Load(), legacy.wakes.Load())
	}
}

func TestWakeComesOncePerCleanToDirty(t *testing.T) {
	h := listen.NewHub(nil)
	var c counter
	s := open(t, h, `1`, uris("a", "b", "c"), &c)
	now := time.Now()
	expect := func(what string, wakes int64) {
		t.Helper()
		if got := c.wakes.Swap(0); got != wakes {
			t.Errorf("%s: woken %d times, want %d", what, got, wakes)
		}
	}
	expect("open", 1)
	publish(h, "a")
	expect("a change before the first pull", 0)
	drain(t, s, now)
	publish(h, "a", "a")
	expect("a, on an idle stream", 1)
	publish(h, "b")
	expect("b, while the stream is awake", 0)
	if said, wait := drain(t, s, now.Add(10*time.Millisecond)); !slices.Equal(said, []string{"b"}) || wait != 40*time.Millisecond {
		t.Errorf("said %q, wait %v", said, wait)
	}
	publish(h, "a")
	expect("a, for which the carrier waits already", 0)
	publish(h, "b")
	expect("b, which is due later than what the carrier waits for", 0)
	publish(h, "c")
	expect("c, which is due at once", 1)
	publish(h, "x")
	expect("what nobody asked for", 0)
	drain(t, s, now.Add(time.Hour))
	s.Complete()
	s.Complete()
	expect("complete", 1)
	drain(t, s, now.Add(time.Hour))
	s.Complete()
	s.Cancel()
	publish(h, "a")
	expect("what comes after the end", 0)
}

func TestRepeatedChangeIsSaidOnce(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b"}}, &counter{})
	for range 100 {
		h.Publish(listen.Change{List: true, Keys: []string{"b", "a", "b"}})
	}
	said, _ := drain(t, s, time.Now())
	check(t, said, "ack", methodList, "b", "a")
}

func TestKeysOfOneURIAreOneSubscription(t *testing.T) {
	h := listen.NewHub(nil)
	subs := []listen.Sub{{Key: "a%20b", URI: "x"}, {Key: "a b", URI: "x"}, {Key: "a b", URI: "x"}, {Key: "a b", URI: "y"}}
	s, err := h.Open([]byte(`1`), uris("x", "y"), subs, &counter{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.URIs() != 2 {
		t.Errorf("%d URIs", s.URIs())
	}
	now := time.Now()
	publish(h, "a b", "a%20b")
	said, _ := drain(t, s, now)
	slices.Sort(said)
	check(t, said, "ack", "x", "y")
	publish(h, "a%20b")
	said, _ = drain(t, s, now.Add(time.Second))
	check(t, said, "x")
	s.Cancel()
	publish(h, "a b")
}

func TestMatchingIsByKeyAndAncestor(t *testing.T) {
	for _, c := range []struct {
		key, changed string
		want         bool
	}{
		{"a/b", "a/b", true},
		{"a/b", "a/b/c", true},
		{"a/b", "a/b/c/d/e", true},
		{"a/b", "a/bc", false},
		{"a/b", "a", false},
		{"a/b", "a/c", false},
		{"a/b", "b", false},
		{"a/b", "x/a/b", false},
		{"a/b", "A/b", false},
		{"file:///srv", "file:///srv/x", true},
		{"test:/", "test://x", true},
		{"test:/", "test:/", true},
		{"", "/x", true},
		{"", "x", false},
		{"a", "a/", true},
		{"a", "a//b", true},
		{"a%2Fb", "a/b", false},
	} {
		h := listen.NewHub(nil)
		s := open(t, h, `1`, uris(c.key), &counter{})
		publish(h, c.changed)
		if said, _ := drain(t, s, time.Now()); (len(said) == 2) != c.want {
			t.Errorf("a subscription to %q and a change of %q: said %q", c.key, c.changed, said)
		}
	}
}

func TestNothingIsSaidThatWasNotAskedFor(t *testing.T) {
	everything := listen.Change{List: true, Tools: true, Prompts: true, Keys: []string{"a", "b"}}
	for _, c := range []struct {
		f    listen.Filter
		want []string
	}{
		{listen.Filter{ToolsListChanged: true}, []string{"ack", methodTools}},
		{listen.Filter{PromptsListChanged: true}, []string{"ack", methodPrompts}},
		{listen.Filter{ResourcesListChanged: true}, []string{"ack", methodList}},
		{uris("b"), []string{"ack", "b"}},
	} {
		h := listen.NewHub(nil)
		s := open(t, h, `1`, c.f, &counter{})
		h.Publish(everything)
		said, _ := drain(t, s, time.Now())
		check(t, said, c.want...)
	}
}

func TestStreamsAreIndependent(t *testing.T) {
	h := listen.NewHub(nil)
	number := open(t, h, `1`, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "both"}}, &counter{})
	text := open(t, h, `"1"`, uris("both", "b"), &counter{})
	h.Publish(listen.Change{List: true, Keys: []string{"a", "b", "both"}})
	now := time.Now()
	said, _ := drain(t, text, now)
	check(t, said, "ack", "b", "both")
	text.Cancel()
	said, _ = drain(t, number, now)
	check(t, said, "ack", methodList, "a", "both")
	publish(h, "both", "b")
	said, _ = drain(t, number, now.Add(time.Second))
	check(t, said, "both")
	if said, wait := drain(t, text, now.Add(time.Second)); said != nil || wait != listen.Over {
		t.Errorf("the cancelled stream says %q, %v", said, wait)
	}
}

func TestSilenceAfterCancel(t *testing.T) {
	all := listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b"}}
	for _, c := range []struct {
		name   string
		before func(h *listen.Hub, s *listen.Stream)
	}{
		{"before the acknowledgement", func(h *listen.Hub, s *listen.Stream) {}},
		{"with everything owed", func(h *listen.Hub, s *listen.Stream) {
			h.Publish(listen.Change{List: true, Keys: []string{"a", "b"}})
		}},
		{"in the middle of what is owed", func(h *listen.Hub, s *listen.Stream) {
			h.Publish(listen.Change{List: true, Keys: []string{"a", "b"}})
			s.Next(nil, time.Now())
			s.Next(nil, time.Now())
		}},
		{"while completing", func(h *listen.Hub, s *listen.Stream) {
			publish(h, "a")
			s.Complete()
		}},
		{"after the result", func(h *listen.Hub, s *listen.Stream) {
			s.Complete()
			s.Next(nil, time.Now())
			s.Next(nil, time.Now())
		}},
		{"after the end", func(h *listen.Hub, s *listen.Stream) {
			s.Complete()
			drain(t, s, time.Now())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := listen.NewHub(nil)
			s := open(t, h, `1`, all, &counter{})
			c.before(h, s)
			done := s.Done()
			s.Cancel()
			s.Cancel()
			<-done
			<-s.Done()
			publish(h, "a")
			s.Complete()
			s.Add(listen.Sub{Key: "c", URI: "c"})
			s.Remove("a")
			publish(h, "c")
			if frame, wait := s.Next(nil, time.Now()); frame != nil || wait != listen.Over {
				t.Errorf("Next is %s, %v", frame, wait)
			}
			if h.Len() != 0 || s.URIs() != 0 {
				t.Errorf("%d streams, %d URIs are left", h.Len(), s.URIs())
			}
		})
	}
}

func TestCompleteFlushesWhatIsOwed(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b"}}, &counter{})
	now := time.Now()
	change := listen.Change{List: true, Keys: []string{"a"}}
	h.Publish(change)
	drain(t, s, now)
	h.Publish(change) // owed, but not due for a while
	if said, wait := drain(t, s, now); said != nil || wait <= 0 {
		t.Fatalf("said %q, wait %v", said, wait)
	}
	s.Complete()
	publish(h, "b") // too late
	said, wait := drain(t, s, now)
	check(t, said, "a", methodList, "result")
	if wait != listen.Over {
		t.Errorf("wait is %v", wait)
	}
}

func TestResultIsLastAndOverComesAfterIt(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, uris("a"), &counter{})
	s.Complete()
	for _, want := range []string{"ack", "result"} {
		frame, _ := s.Next(nil, time.Now())
		if got := decode(t, frame).said(); got != want {
			t.Errorf("said %s, want %s", got, want)
		}
		select {
		case <-s.Done():
			t.Errorf("done before the carrier asked again after %s", want)
		default:
		}
	}
	if h.Len() != 1 {
		t.Error("forgotten before the result can have been written")
	}
	if frame, wait := s.Next(nil, time.Now()); frame != nil || wait != listen.Over {
		t.Errorf("Next is %s, %v", frame, wait)
	}
	<-s.Done()
	if h.Len() != 0 {
		t.Error("not forgotten")
	}
}

func TestNothingHonouredCompletesAfterTheAcknowledgement(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, listen.Filter{}, &counter{})
	said, wait := drain(t, s, time.Now())
	check(t, said, "ack", "result")
	if wait != listen.Over {
		t.Errorf("wait is %v", wait)
	}
}

func TestLegacyStreamIsUntagged(t *testing.T) {
	h := listen.NewHub(nil)
	var c counter
	s := open(t, h, ``, listen.Filter{ResourcesListChanged: true}, &c)
	if s.ID() != nil {
		t.Errorf("ID is %s", s.ID())
	}
	if frame, wait := s.Next(nil, time.Now()); frame != nil || wait != 0 {
		t.Errorf("Next is %s, %v", frame, wait)
	}
	s.Add(listen.Sub{Key: "a", URI: "a/"})
	h.Publish(listen.Change{List: true, Keys: []string{"a"}})
	s.Complete()
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a/"}}`,
		``,
	} {
		if frame, _ := s.Next(nil, time.Now()); string(frame) != want {
			t.Errorf("frame is %s, want %s", frame, want)
		}
	}
	<-s.Done()
	if c.wakes.Load() != 1 {
		t.Errorf("woken %d times", c.wakes.Load())
	}
}

func TestLegacyStreamWithoutSubscriptionsStaysOpen(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, ``, listen.Filter{}, &counter{})
	if frame, wait := s.Next(nil, time.Now()); frame != nil || wait != 0 || h.Len() != 1 {
		t.Errorf("Next is %s, %v", frame, wait)
	}
}

func TestAddAndRemove(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, ``, listen.Filter{}, &counter{})
	now := time.Now()
	for i := range 40 { // enough for a map of URIs
		uri := fmt.Sprint("u", i)
		s.Add(listen.Sub{Key: uri, URI: uri}, listen.Sub{Key: "also/" + uri, URI: uri}, listen.Sub{Key: uri, URI: uri})
	}
	if s.URIs() != 40 {
		t.Errorf("%d URIs", s.URIs())
	}
	publish(h, "u3", "u4", "also/u5", "u5", "also/u6/below")
	if !s.Has("u4") || s.Has("also/u4") {
		t.Error("Has is wrong")
	}
	s.Remove("u4")
	if s.Has("u4") {
		t.Error("removed, and still there")
	}
	s.Remove("u4")
	s.Remove("unknown")
	said, _ := drain(t, s, now)
	check(t, said, "u3", "u5", "u6")
	for i := range 40 {
		if i != 7 {
			s.Remove(fmt.Sprint("u", i))
		}
	}
	for i := range 40 {
		publish(h, fmt.Sprint("u", i), fmt.Sprint("also/u", i))
	}
	said, _ = drain(t, s, now)
	check(t, said, "u7")
	s.Add(listen.Sub{Key: "u3", URI: "u3"})
	publish(h, "u3")
	said, _ = drain(t, s, now)
	check(t, said, "u3")
	if s.URIs() != 2 {
		t.Errorf("%d URIs", s.URIs())
	}
}

func TestChangesComeInTheOrderOfTheirPublish(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b", "c", "d", "e"}}, &counter{})
	publish(h, "d")
	publish(h, "b", "e")
	h.Publish(listen.Change{List: true})
	publish(h, "a")
	publish(h, "d", "c")
	said, _ := drain(t, s, time.Now())
	check(t, said, "ack", "d", "b", "e", methodList, "a", "c")
}

func TestMemoryIsBoundedByTheFilter(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b", "c"}}, &counter{})
	change := listen.Change{List: true, Keys: []string{"a", "b", "a/x", "c"}}
	h.Publish(change)
	if n := testing.AllocsPerRun(500_000, func() { h.Publish(change) }); n != 0 {
		t.Errorf("a Publish to a reader that does not pull allocates %v times", n)
	}
	said, _ := drain(t, s, time.Now())
	check(t, said, "ack", methodList, "a", "b", "c")
}
