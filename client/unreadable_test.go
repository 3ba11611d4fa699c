package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// A resource that cannot be read keeps no other from being told, in whatever way it fails. When it can be read that is told.
func TestAResourceThatCannotBeReadDoesNotKeepOthersFromBeingTold(t *testing.T) {
	for name, c := range map[string]struct {
		overHTTP bool
		fail     func(c *fakeConn, r request)
		lost     int // how many connections
	}{
		"a status of trouble": {true, func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 500, End: true, Err: &wire.StatusError{Status: 500}})
		}, 0},
		"too many requests": {true, func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 429, End: true, Err: &wire.StatusError{Status: 429}})
		}, 0},
		"too long, over HTTP": {true, func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 200, Err: &wire.FrameError{Raw: []byte("{"), TooLong: true}})
		}, 0},
		"too long, on a pipe": {false, func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte("{"), TooLong: true, ID: r.ID}})
		}, 0},
		"no answer at all": {false, func(*fakeConn, request) {}, 1},
		"a stream that ends": {true, func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 200, End: true, Err: wire.ErrUnanswered})
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			withLab(t, Want{List: true, Listed: true, Read: true}, Options{}, func(f *fake) {
				someFiles("a", "bad")(f)
				f.overHTTP = c.overHTTP
				f.mute = func(conn *fakeConn, r request) bool {
					if r.Method == "resources/read" && r.Params.URI == "test://bad" {
						c.fail(conn, r)
						return true
					}
					return false
				}
			}, func(l *lab) {
				time.Sleep(5 * time.Minute)
				told := l.told()
				if n := len(slices.DeleteFunc(slices.Clone(told), func(s string) bool { return !strings.HasPrefix(s, "lost") })); n > c.lost || !slices.Contains(told, "live 2 2 0") {
					t.Fatalf("told %q", told)
				}
				synctest.Wait()
				if l.requests(); len(l.dials) != 1+c.lost {
					t.Errorf("%d connections", len(l.dials))
				}
				if _, err := l.c.Contents("test://bad"); err == nil || err == ErrNotRead {
					t.Errorf("contents: %v", err)
				}
				l.write("test://a", "A")
				l.expect("updated test://a A")
				time.Sleep(2 * time.Minute)
				if n := len(l.requests()); n > 60 {
					t.Errorf("%d requests in two minutes", n)
				}
				l.told()
				l.do(func() { l.mute = nil })
				time.Sleep(2 * time.Minute)
				l.expect("updated test://bad bad")
			})
		})
	}
}

// A server whose reads hang once it has read for a while may be helped by another connection.
func TestAServerWhoseReadsHangIsStartedAnew(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}, Read: true}, Options{}, someFiles("a"), func(l *lab) {
		l.expect("live 0 1 0")
		for range 3 {
			time.Sleep(time.Hour)
			l.do(func() {
				hung := l.last()
				l.mute = func(c *fakeConn, r request) bool { return c == hung && r.Method == "resources/read" }
			})
			l.write("test://a", fmt.Sprint("after ", len(l.dials)))
			time.Sleep(2 * time.Minute)
			told := l.told()
			if len(told) != 3 || !strings.HasPrefix(told[0], "lost 1") || told[2] != fmt.Sprint("updated test://a after ", len(l.dials)-1) {
				t.Errorf("told %q", told)
			}
			l.write("test://a", fmt.Sprint("then ", len(l.dials)))
			l.expect(fmt.Sprint("updated test://a then ", len(l.dials)))
		}
	})
}

// An answer that is too long is one: whoever has asked gets an error, and nothing is lost.
func TestAReadThatIsTooLongIsNoLoss(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.mute = func(c *fakeConn, r request) bool {
			if r.Method == "resources/read" {
				c.emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte("{"), TooLong: true, ID: r.ID}})
			}
			return r.Method == "resources/read"
		}
	}, func(l *lab) {
		l.expect("live 0 0 0")
		if _, err := l.c.Read(l.t.Context(), "test://a"); !isTooLong(err) {
			t.Errorf("Read: %v", err)
		}
		l.expect()
	})
}

// What is no message may come from anybody who writes to that pipe: it is no sign that the server is there.
func TestNonsenseIsNoSignOfLife(t *testing.T) {
	withLab(t, Want{}, Options{}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		l.requests()
		for range 10 {
			time.Sleep(5 * time.Second)
			l.do(func() {
				l.last().emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte("tick"), Reason: "not JSON"}})
			})
		}
		if log := l.requests(); !slices.Equal(log, []string{"server/discover"}) {
			t.Errorf("the server was asked %q", log)
		}
	})
}
