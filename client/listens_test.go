package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

func (l *lab) set(w Want) {
	l.t.Helper()
	if err := l.c.Set(w); err != nil {
		l.t.Fatal(err)
	}
}

// settled waits until what was replaced is cancelled.
func (l *lab) settled() { time.Sleep(3 * time.Second) }

func TestAFilterChangesByANewListenBeforeTheOldOneEnds(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}}, Options{}, someFiles("a", "b", "c"), func(l *lab) {
		l.expect("live 0 2 0")
		old := l.listens()[0]
		var answer func()
		l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
		l.set(Want{URIs: []string{"test://b", "test://c"}})
		l.settled()
		l.expect()
		l.write("test://b", "B") // the old one is open until the new one is acknowledged
		l.expect("updated test://b")
		l.do(answer)
		l.expect("live 0 2 0")
		if ids := l.listens(); len(ids) != 2 || ids[0] != old {
			t.Errorf("open are %q, and %s was before", ids, old)
		}
		l.requests()
		l.settled()
		if log := l.requests(); !slices.Equal(log, []string{"server/discover", "cancel " + old}) {
			t.Errorf("the server was asked %q", log)
		}
		l.write("test://c", "C")
		l.write("test://a", "A")
		l.expect("updated test://c")
	})
}

// What a listen owes when another has replaced it must still come: it is cancelled only after it was quiet for a while,
// and the server then answers.
func TestAListenThatStillOwesIsNotCancelled(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 0 2 0")
		old := l.listens()[0]
		l.set(Want{URIs: []string{"test://a"}})
		l.expect("live 0 1 0")
		for range 5 {
			time.Sleep(900 * time.Millisecond)
			l.do(func() { l.last().notifyLocked(old, "resources/updated", map[string]any{"uri": "test://a"}) })
			l.expect("updated test://a")
		}
		var answer func()
		l.do(func() { answer = l.mutesLocked("server/discover", 1) })
		l.settled()
		if ids := l.listens(); len(ids) != 2 {
			t.Errorf("a listen was cancelled though the server may have stalled: open are %q", ids)
		}
		l.do(answer)
		l.expect()
		if ids := l.listens(); len(ids) != 1 || ids[0] == old {
			t.Errorf("open are %q", ids)
		}
	})
}

func TestLateMessagesAreDiscarded(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://a", "test://b"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 2 2 0")
		old := l.listens()[0]
		l.set(Want{List: true, URIs: []string{"test://a"}})
		l.expect("live 2 1 0")
		l.settled()
		l.requests()
		l.do(func() {
			c := l.last()
			c.notifyLocked(old, "resources/updated", map[string]any{"uri": "test://a"})
			c.notifyLocked(old, "resources/list_changed", nil)
			c.notifyLocked(old, "subscriptions/acknowledged", map[string]any{"notifications": map[string]any{}})
			c.notifyLocked("9999", "resources/updated", map[string]any{"uri": "test://a"})
			c.failLocked([]byte("9999"), jsonrpc.Errorf(-32603, "late"))
		})
		l.expect()
		if log := l.requests(); len(log) > 0 {
			t.Errorf("the server was asked %q", log)
		}
	})
}

func TestWhatIsNotWantedAnyMoreIsNotTold(t *testing.T) {
	withLab(t, Want{Listed: true, URIs: []string{"test://z"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 2 3 0")
		l.do(func() {
			l.writeLocked("test://a", "A")
			l.writeLocked("test://z", "z")
			l.writeLocked("test://c", "c")
		})
		l.set(Want{URIs: []string{"test://z"}})
		l.expect("updated test://z", "live 0 1 0")
		if r := l.c.Resources(); len(r) != 0 {
			t.Errorf("the view has %v", r)
		}
		l.set(Want{List: true, URIs: []string{"test://z"}})
		l.expect("live 4 1 0") // what was there before is not told as added
	})
}

// A Live that is told before Set returns must not be taken for that of what was set.
func TestSetTakesBackALiveThatWasNotHandedOut(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.write("test://a", "A")
		var answer func()
		l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
		l.set(Want{URIs: []string{"test://a", "test://b"}})
		l.expect()
		l.do(answer)
		l.expect("live 0 2 0", "updated test://a")
	})
}

func TestSetWhileThereIsNoConnection(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		someFiles("a", "b")(f)
		f.dialErr = func(n int) error {
			if n == 1 {
				return errors.New("not yet")
			}
			return nil
		}
	}, func(l *lab) {
		l.set(Want{List: true, URIs: []string{"test://b"}})
		time.Sleep(time.Second)
		l.expect("lost 1 499.999999ms", "live 2 1 0")
		if err := l.c.Set(Want{URIs: []string{""}}); err == nil {
			t.Error("an empty URI was taken")
		}
		l.expect()
	})
}

func TestManyListensAreMerged(t *testing.T) {
	withLab(t, Want{Listed: true}, Options{Spare: 3}, someFiles("a"), func(l *lab) {
		l.expect("live 1 1 0")
		for i := range 6 {
			uri := fmt.Sprint("test://new", i)
			l.write(uri, "new")
			l.expect("added " + uri)
		}
		l.settled()
		l.expect()
		if n := len(l.listens()); n > 4 {
			t.Errorf("%d listens are open", n)
		}
		l.write("test://a", "A")
		l.write("test://new0", "newer")
		l.write("test://new5", "newer")
		l.expect("updated test://a", "updated test://new0", "updated test://new5")
	})
}

// What a listen that was merged away did not hand out is found in the list.
func TestWhatAReplacedListenLostIsFoundInTheList(t *testing.T) {
	withLab(t, Want{Listed: true}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 2 2 0")
		l.do(func() { l.files["test://a"] = "longer than before" }) // and nobody says so
		l.set(Want{Listed: true, Tools: true})
		l.expect("live 2 2 0")
		l.settled()
		l.expect("updated test://a")
	})
}

func TestManyURIsAreSpreadOverListens(t *testing.T) {
	var uris []string
	for i := range 25_000 {
		uris = append(uris, fmt.Sprint("test://", i))
	}
	for i := range 100 {
		uris = append(uris, "test://"+strings.Repeat("<", 10_000)+fmt.Sprint(i)) // 60 KB each as JSON
	}
	withLab(t, Want{URIs: uris, List: true}, Options{Spare: -1}, nil, func(l *lab) {
		l.expect("live 0 25100 0")
		var sizes []int
		for _, id := range l.listens() {
			f := l.last().listens[id]
			sizes = append(sizes, len(f.URIs))
			if size := len(encode(f)); size > 3<<20+70_000 {
				t.Errorf("a filter has %d bytes", size)
			}
		}
		if len(sizes) != 4 || sizes[0] != 10_000 || sizes[1] != 10_000 {
			t.Errorf("listens of %v", sizes)
		}
	})
}

func TestAFilterThatIsRefusedIsAskedForInParts(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://a", "test://b", "test://bad", "test://c"}}, Options{}, func(f *fake) {
		someFiles("a", "b", "c")(f)
		f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
			if r.Method == "subscriptions/listen" && slices.Contains(r.Params.Notifications.URIs, "test://bad") {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "no such thing")
			}
			return nil
		}
	}, func(l *lab) {
		l.expect("live 3 4 1")
		if s := l.c.Status(); !slices.Equal(s.Polled, []string{"test://bad"}) || len(s.PolledLists) > 0 {
			t.Errorf("status %+v", s)
		}
		l.write("test://c", "C")
		l.write("test://d", "D")
		l.expect("updated test://c", "added test://d")
	})
}

func TestABusyServerIsAskedAgain(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		f.refuse = func(c *fakeConn, r request) *jsonrpc.Error {
			if r.Method == "subscriptions/listen" && len(f.conns) < 3 {
				return jsonrpc.Errorf(jsonrpc.InternalError, "too many listens are open")
			}
			return nil
		}
	}, func(l *lab) {
		l.expect("lost 1 499.999999ms")
		time.Sleep(time.Minute)
		l.expect("lost 2 999.999999ms", "live 0 0 0")
	})
}

// A listen of which nothing is honoured may complete, before or after its acknowledgement: that is no loss.
func TestAListenThatHonoursNothingMayComplete(t *testing.T) {
	for _, acknowledged := range []bool{true, false} {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
			f.files["test://a"] = "a"
			f.mute = func(c *fakeConn, r request) bool {
				if r.Method != "subscriptions/listen" {
					return false
				}
				if acknowledged {
					c.notifyLocked(string(r.ID), "subscriptions/acknowledged", map[string]any{"notifications": map[string]any{}})
				}
				c.answerLocked(r.ID, map[string]any{"resultType": "complete"})
				return true
			}
		}, func(l *lab) {
			l.expect("live 0 1 1")
			l.write("test://a", "A")
			time.Sleep(5 * time.Second)
			l.expect("updated test://a")
		})
	}
}

// Servers that key a subscription by session do not say which listen a message belongs to. It is a hint all the same.
func TestAMessageThatNamesNoListenIsAHint(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://a"}}, Options{}, someFiles("a"), func(l *lab) {
		l.expect("live 1 1 0")
		l.do(func() {
			l.files["test://b"] = "b"
			l.last().notifyLocked("", "resources/list_changed", nil)
			l.last().notifyLocked("", "resources/updated", map[string]any{"uri": "test://a"})
		})
		l.expect("updated test://a", "added test://b")
	})
}

// The URI of a notification may be one beneath that which is followed (2025-11-25, server/resources), or, of a server that
// spells URIs in its own way, one that nobody asked for.
func TestAnUpdateOfWhatWasNotAskedForIsNotLost(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://dir/", "test://b"}}, Options{}, nil, func(l *lab) {
		l.expect("live 0 2 0")
		id := l.listens()[0]
		l.do(func() { l.last().notifyLocked(id, "resources/updated", map[string]any{"uri": "test://dir/x/y"}) })
		l.expect("updated test://dir/")
		l.do(func() { l.last().notifyLocked(id, "resources/updated", map[string]any{"uri": "TEST://B"}) })
		if told := l.told(); len(told) != 2 || !slices.Contains(told, "updated test://b") {
			t.Errorf("told %q", told)
		}
	})
}

func TestAStaleCursorBeginsTheWalkAnew(t *testing.T) {
	for _, refusals := range []int{3, 6} {
		withLab(t, Want{List: true}, Options{}, func(f *fake) {
			someFiles("a", "b", "c", "d", "e")(f)
			n := 0
			f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
				if r.Params.Cursor == "" || n == refusals {
					return nil
				}
				n++
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid cursor")
			}
		}, func(l *lab) {
			if refusals > maxRestarts {
				l.expect("lost 1 499.999999ms")
				time.Sleep(time.Second)
			}
			l.expect("live 5 0 0")
		})
	}
}

func TestPagesInACircleAreSeen(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		f.mute = func(c *fakeConn, r request) bool {
			if r.Method != "resources/list" {
				return false
			}
			next := map[string]string{"": "x", "x": "y", "y": "x"}[r.Params.Cursor]
			c.answerLocked(r.ID, map[string]any{"resources": []any{}, "nextCursor": next})
			return true
		}
	}, func(l *lab) {
		e, err := l.c.Next(l.t.Context())
		if err != nil || e.Kind != Lost || !errors.Is(e.Err, errCircle) {
			t.Errorf("told %v %v, %v", e.Kind, e.Err, err)
		}
	})
}
