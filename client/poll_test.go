package client

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// deaf is a server that honours nothing.
func deaf(names ...string) func(*fake) {
	return func(f *fake) {
		someFiles(names...)(f)
		f.honour = func(filter) filter { return filter{} }
	}
}

func TestWhatIsNotAnnouncedIsPolled(t *testing.T) {
	for _, read := range []bool{false, true} {
		withLab(t, Want{Listed: true, Tools: true, Prompts: true, Read: read}, Options{}, deaf("a", "b"), func(l *lab) {
			contents := func(text string) string {
				if read {
					return " " + text
				}
				return ""
			}
			l.expect("live 2 2 2")
			l.write("test://a", "A")
			l.write("test://c", "c")
			l.do(func() { l.files["tools"] = "another" })
			time.Sleep(10 * time.Second)
			if told := l.told(); len(told) != 3 || !slices.Contains(told, "tools changed") || !slices.Contains(told, "added test://c"+contents("c")) ||
				!slices.Contains(told, "updated test://a"+contents("A")) {
				t.Errorf("told %q", told)
			}
			l.write("test://a", "")
			time.Sleep(time.Minute)
			told := l.told()
			if len(told) < 1 || told[len(told)-1] != "removed test://a" {
				t.Errorf("told %q", told)
			}
			l.write("test://c", "C")
			time.Sleep(time.Minute)
			l.expect("updated test://c" + contents("C"))
		})
	}
}

// "Implementations that do choose to poll MUST apply jitter and backoff" (server/utilities/caching).
func TestPollingBacksOffAndHonoursTheTTL(t *testing.T) {
	for ttl, want := range map[int]string{0: "[3s 4s 6s 8s 13s 19s 28s 38s 38s]", 60_000: "[1m1s 1m1s]"} {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
			deaf("a")(f)
			f.ttl = ttl
		}, func(l *lab) {
			var looks []time.Duration
			last := time.Now()
			l.do(func() {
				l.mute = func(_ *fakeConn, r request) bool {
					if r.Method == "resources/read" {
						looks = append(looks, time.Since(last).Round(time.Second))
						last = time.Now()
					}
					return false
				}
			})
			time.Sleep(3 * time.Minute)
			l.do(func() {
				if got := fmt.Sprint(looks); got != want {
					t.Errorf("ttl %d ms: looks after %s", ttl, got)
				}
			})
		})
	}
}

func TestManyPolledResourcesAreLookedAtSlowly(t *testing.T) {
	var uris []string
	for i := range 1000 {
		uris = append(uris, fmt.Sprint("test://", i))
	}
	withLab(t, Want{URIs: uris}, Options{}, deaf(), func(l *lab) {
		time.Sleep(time.Minute)
		l.requests()
		time.Sleep(100 * time.Second)
		if n := len(l.requests()); n > 50*100+10 || n < 1000 {
			t.Errorf("%d looks in 100 s", n)
		}
	})
}

func TestPollingCanBeTurnedOff(t *testing.T) {
	withLab(t, Want{Listed: true, Tools: true}, Options{Poll: -1}, deaf("a"), func(l *lab) {
		l.expect("live 1 1 1")
		l.requests()
		time.Sleep(time.Minute)
		for _, asked := range l.requests() {
			if asked != "server/discover" {
				t.Errorf("the server was asked %s", asked)
			}
		}
	})
}

func TestAServerWithoutListensIsPolled(t *testing.T) {
	withLab(t, Want{Listed: true}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
			if r.Method == "subscriptions/listen" {
				return jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found")
			}
			return nil
		}
	}, func(l *lab) {
		l.expect("live 1 1 1")
		l.write("test://a", "A")
		time.Sleep(5 * time.Second)
		l.expect("updated test://a")
	})
}

func TestAServerWithoutResourcesHasAnEmptyList(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
			if r.Method == "resources/list" {
				return jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found")
			}
			return nil
		}
	}, func(l *lab) { l.expect("live 0 0 0") })
}

// TestAListThatIsWantedAgainIsLookedAtAnew: what was known of it before says nothing of what it is when Live is told.
func TestAListThatIsWantedAgainIsLookedAtAnew(t *testing.T) {
	withLab(t, Want{Tools: true}, Options{}, deaf("tools"), func(l *lab) {
		l.expect("live 0 0 0")
		l.set(Want{})
		l.expect("live 0 0 0")
		var answer func()
		l.do(func() { answer = l.mutesLocked("tools/list", 1) })
		l.set(Want{Tools: true})
		l.expect()
		l.do(answer)
		l.expect("live 0 0 0")
	})
}

// TestAListOfToolsThatIsNotToBeHadKeepsNothingFromBeingTold, whether it is polled or not.
func TestAListOfToolsThatIsNotToBeHadKeepsNothingFromBeingTold(t *testing.T) {
	for _, poll := range []time.Duration{0, -1} {
		withLab(t, Want{Tools: true}, Options{Poll: poll}, func(f *fake) {
			deaf()(f)
			f.overHTTP = true
			f.mute = func(c *fakeConn, r request) bool {
				if r.Method == "tools/list" {
					c.emitLocked(wire.Event{Request: r.ID, Status: 502, End: true, Err: &wire.StatusError{Status: 502}})
				}
				return r.Method == "tools/list"
			}
		}, func(l *lab) {
			time.Sleep(time.Minute)
			l.expect("live 0 0 0")
			l.do(func() { l.mute = nil })
			time.Sleep(time.Minute)
			if poll == 0 {
				l.expect("tools changed")
			}
		})
	}
}

// What somebody has read between two looks is known to them alone: that it is gone again is told.
func TestWhatCameAndWentBetweenTwoLooksIsToldToWhoHasReadIt(t *testing.T) {
	for _, read := range []bool{false, true} {
		withLab(t, Want{URIs: []string{"test://a", "test://b"}, Read: read}, Options{}, deaf("a", "b"), func(l *lab) {
			l.told()
			for _, uri := range []string{"test://a", "test://b"} {
				l.write(uri, "for a moment")
			}
			if got := l.read("test://a"); got != "for a moment" {
				t.Fatalf("read %q", got)
			}
			for _, name := range []string{"a", "b"} {
				l.write("test://"+name, name)
			}
			time.Sleep(10 * time.Minute)
			want := "updated test://a"
			if read {
				want += " a"
			}
			l.expect(want)
			time.Sleep(10 * time.Minute)
			l.expect()
		})
	}
}
