package listen_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// naming makes a hub whose messages name what changed beneath, without pacing.
func naming() *listen.Hub {
	return listen.NewHub(&listen.Options{UpdateInterval: -1, ChangedMeta: changedMeta})
}

// names pulls one updated and returns what it names.
func names(t *testing.T, s *listen.Stream) []string {
	t.Helper()
	frame, _ := s.Next(nil, time.Now())
	if frame == nil {
		t.Fatal("there is nothing to say")
	}
	m := decode(t, frame)
	if m.Method != methodUpdated {
		t.Fatalf("not an updated: %s", frame)
	}
	keys, err := m.named()
	if err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return keys
}

func TestMessageNamesWhatChangedBeneath(t *testing.T) {
	for _, c := range []struct {
		key     string
		changed []string
		want    []string
	}{
		{"a", []string{"a/b"}, []string{"a/b"}},
		{"a", []string{"a/c", "a/b/d", "b", "a/b"}, []string{"a/b", "a/b/d", "a/c"}},
		{"a", []string{"a/b", "a/c", "a/b"}, []string{"a/b", "a/c"}},
		{"a", []string{"a/b/", "a/b"}, []string{"a/b", "a/b/"}},
		{"a", []string{"a"}, nil},
		{"a", []string{"a/"}, []string{"a/"}},
		{"a", []string{"a", "a/b", "a/"}, []string{"a/", "a/b"}},
		{"a/b", []string{"a/b"}, nil},
		{"test:/", []string{"test://", "test://x", "test://x/"}, []string{"test://", "test://x", "test://x/"}},
	} {
		h := naming()
		s := open(t, h, `1`, uris(c.key), &counter{})
		s.Next(nil, time.Now())
		publish(h, c.changed...)
		if got := names(t, s); !slices.Equal(got, c.want) {
			t.Errorf("to %s a change of %q is named %q, want %q", c.key, c.changed, got, c.want)
		}
		if frame, _ := s.Next(nil, time.Now()); frame != nil {
			t.Errorf("more is said: %s", frame)
		}
	}
}

func TestContainerIsMatchedWithoutItsSlash(t *testing.T) {
	h := naming()
	s := open(t, h, `1`, uris("a", "a/b", "a/b/c"), &counter{})
	s.Next(nil, time.Now())
	publish(h, "a/b/")
	said, _ := drain(t, s, time.Now())
	slices.Sort(said)
	check(t, said, "a", "a/b")
}

func TestNamedAtMost64(t *testing.T) {
	h := naming()
	s := open(t, h, `1`, uris("a"), &counter{})
	s.Next(nil, time.Now())
	var keys []string
	for i := range 65 {
		keys = append(keys, fmt.Sprintf("a/%d", i))
	}
	publish(h, keys[:64]...)
	publish(h, keys[:64]...) // each counts once
	if got := names(t, s); len(got) != 64 {
		t.Errorf("%d of 64 are named", len(got))
	}
	publish(h, keys...)
	publish(h, keys[0])
	if got := names(t, s); got != nil {
		t.Errorf("of 65 %d are named", len(got))
	}
	publish(h, keys[64])
	if got := names(t, s); !slices.Equal(got, keys[64:]) {
		t.Errorf("after too many the next message names %q", got)
	}
}

// What changes once Next has returned a message, written or not, is named by the message after it.
func TestChangeAfterNextIsNamedNext(t *testing.T) {
	h := naming()
	s := open(t, h, `1`, uris("a"), &counter{})
	s.Next(nil, time.Now())
	publish(h, "a/1", "a/2")
	frame, _ := s.Next(nil, time.Now())
	publish(h, "a/2", "a/3")
	if got, _ := decode(t, frame).named(); !slices.Equal(got, []string{"a/1", "a/2"}) {
		t.Errorf("first %q", got)
	}
	if got := names(t, s); !slices.Equal(got, []string{"a/2", "a/3"}) {
		t.Errorf("then %q", got)
	}
}

// A URI that means two keys of which one is beneath the other has one message, and names what is beneath either.
func TestKeysOfOneURIShareWhatIsNamed(t *testing.T) {
	h := naming()
	s, err := h.Open([]byte(`1`), uris("u"), []listen.Sub{{Key: "a", URI: "u"}, {Key: "a/b", URI: "u"}, {Key: "c", URI: "u"}}, &counter{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Next(nil, time.Now())
	publish(h, "a/b/x", "c/x", "a/b", "c")
	if got := names(t, s); !slices.Equal(got, []string{"a/b", "a/b/x", "c/x"}) {
		t.Errorf("named %q", got)
	}
	if frame, _ := s.Next(nil, time.Now()); frame != nil {
		t.Errorf("more is said: %s", frame)
	}
}

func TestPacedMessageNamesAllSinceTheLast(t *testing.T) {
	h := listen.NewHub(&listen.Options{ChangedMeta: changedMeta})
	s := open(t, h, "", uris("a"), &counter{})
	now := time.Now()
	publish(h, "a/1")
	check(t, first(drain(t, s, now)), "a")
	publish(h, "a/2")
	check(t, first(drain(t, s, now)))
	publish(h, "a/3")
	frame, _ := s.Next(nil, now.Add(50*time.Millisecond))
	if got, err := decode(t, frame).named(); err != nil || !slices.Equal(got, []string{"a/2", "a/3"}) {
		t.Errorf("named %q, %v", got, err)
	}
}

func first(said []string, _ time.Duration) []string { return said }

func TestFramesThatName(t *testing.T) {
	h := listen.NewHub(&listen.Options{ChangedMeta: `x.y/"z"`})
	for id, want := range map[string]string{
		`7`: `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + meta + `7,"x.y/\"z\"":["a/\"","a/b"]},"uri":"a"}}`,
		``:  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"x.y/\"z\"":["a/\"","a/b"]},"uri":"a"}}`,
	} {
		s := open(t, h, id, uris("a"), &counter{})
		if id != "" {
			s.Next(nil, time.Now())
		}
		publish(h, `a/"`, "a/b")
		if frame, _ := s.Next([]byte("before "), time.Now()); string(frame) != "before "+want {
			t.Errorf("frame is %s\nwant %s", frame, want)
		}
	}
}

func TestNothingIsNamedUnlessAsked(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, uris("a"), &counter{})
	s.Next(nil, time.Now())
	publish(h, "a/b")
	if frame, _ := s.Next(nil, time.Now()); len(decode(t, frame).Params.Meta) != 1 {
		t.Errorf("got %s", frame)
	}
}

// A reader that does not pull holds no more than 64 names for each of its URIs, and of the rest nothing.
func TestNamesAreBoundedByTheFilter(t *testing.T) {
	h := naming()
	s := open(t, h, `1`, uris("a", "b"), &counter{})
	few := listen.Change{Keys: []string{"b/x", "b"}}
	var many listen.Change
	for i := range 1000 {
		many.Keys = append(many.Keys, fmt.Sprintf("a/%d", i))
	}
	h.Publish(few)
	h.Publish(many)
	if n := testing.AllocsPerRun(1000, func() { h.Publish(few); h.Publish(many) }); n != 0 {
		t.Errorf("a Publish to a reader that does not pull allocates %v times", n)
	}
	said, _ := drain(t, s, time.Now())
	check(t, said, "ack", "b", "a")
}
