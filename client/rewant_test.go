package client

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// What is wanted may change while there is no session that could take that over.
func TestWhatIsWantedChangesWithoutAConnection(t *testing.T) {
	want := Want{List: true, Tools: true, URIs: []string{"test://a", "test://b"}, Read: true}
	withLab(t, want, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 2 2 0")
		l.write("test://a", "A")
		l.write("test://b", "B")
		l.write("test://c", "c")
		l.do(func() { l.last().notifyLocked(l.onlyLocked(), "tools/list_changed", nil) })
		l.cut(errors.New("cut"))
		l.set(Want{URIs: []string{"test://b"}, Read: true})
		l.expect("updated test://b B", "lost 1 499.999999ms")
		l.write("test://b", "BB")
		time.Sleep(time.Second)
		l.expect("live 0 1 0", "updated test://b BB")
		if list := l.c.Resources(); len(list) > 0 {
			t.Errorf("the list is not wanted, and has %v", list)
		}
	})
}

// What becomes owed after a Set, before the session has taken that over, is taken back by the next session.
func TestWhatIsNotWantedAnyMoreIsNotToldAfterALoss(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 0 2 0")
		l.cut(errors.New("cut"))
		l.set(Want{URIs: []string{"test://b"}})
		l.c.queue.updated("test://a", true)
		time.Sleep(time.Second)
		l.expect("lost 1 499.999999ms", "live 0 1 0", "updated test://b")
	})
}

func TestNotificationsOfExtensionsThatAreNotWantedAnyMoreAreNotTold(t *testing.T) {
	withLab(t, Want{Extensions: map[string]jsonRaw{ticks: jsonRaw("5")}}, Options{}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		l.do(func() { l.last().notifyLocked(l.onlyLocked(), "com.example/tick", nil) })
		l.set(Want{})
		l.expect("live 0 0 0")
	})
}

// The answer to a listen may come when what it asked for is not wanted any more.
func TestWhatIsNotWantedAnyMoreIsNotPolled(t *testing.T) {
	var answer func()
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.honour = func(filter) filter { return filter{} }
	}, func(l *lab) {
		l.expect("live 0 0 0")
		l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
		l.set(Want{Tools: true})
		time.Sleep(time.Second)
		l.set(Want{})
		time.Sleep(time.Second)
		l.do(answer)
		l.expect("live 0 0 0")
		l.do(func() { l.files["tools"] = "another" })
		time.Sleep(time.Minute)
		l.expect()
		if s := l.c.Status(); len(s.PolledLists) > 0 || len(s.Unhonoured) > 0 {
			t.Errorf("nothing is wanted, and status is %+v", s)
		}
	})
}

func TestStatusNamesWhatIsPolledNow(t *testing.T) {
	polled := func(l *lab, uris, lists []string) {
		l.t.Helper()
		l.told()
		if s := l.c.Status(); !slices.Equal(s.Polled, uris) || !slices.Equal(s.PolledLists, lists) {
			l.t.Errorf("status %+v, want %q and %q", s, uris, lists)
		}
	}
	t.Run("a list is not wanted any more", func(t *testing.T) {
		withLab(t, Want{List: true, Tools: true}, Options{}, func(f *fake) {
			f.legacy = "2025-11-25"
			f.mute = func(c *fakeConn, r request) bool {
				if r.Method == "tools/list" {
					c.failLocked(r.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found"))
				}
				return r.Method == "tools/list"
			}
		}, func(l *lab) {
			polled(l, nil, []string{"tools"})
			l.set(Want{List: true})
			polled(l, nil, nil)
		})
	})
	t.Run("a resource goes and comes", func(t *testing.T) {
		withLab(t, Want{Listed: true}, Options{}, func(f *fake) {
			someFiles("a", "b")(f)
			f.honour = func(filter) filter { return filter{Resources: true} }
		}, func(l *lab) {
			polled(l, []string{"test://a", "test://b"}, nil)
			l.write("test://a", "")
			time.Sleep(time.Second)
			polled(l, []string{"test://b"}, nil)
			l.write("test://a", "again")
			time.Sleep(time.Second)
			polled(l, []string{"test://a", "test://b"}, nil)
		})
	})
}

// Between Set and the moment when the session takes it over, Next hands out nothing of what the session says by what was wanted before.
func TestWhatIsNotWantedAnyMoreDoesNotBecomeOwed(t *testing.T) {
	all := Want{List: true, Tools: true, URIs: []string{"test://a", "test://b"}, Extensions: map[string]jsonRaw{ticks: jsonRaw("5")}}
	c := New(Target{}, all, nil)
	say := func() []string {
		c.queue.live(Event{Kind: Live})
		c.queue.removed("test://gone", false, 0)
		c.queue.added(&Resource{URI: "test://new"}, false, 0)
		c.queue.updated("test://a", true)
		c.queue.updated("test://b", true)
		c.queue.changed(ToolsChanged)
		c.queue.notify("ticked", nil)
		return drained(c.queue)
	}
	if told := say(); len(told) != 7 {
		t.Errorf("of all that is wanted, it told %q", told)
	}
	if err := c.Set(Want{URIs: []string{"test://b"}}); err != nil {
		t.Fatal(err)
	}
	if told := say(); !slices.Equal(told, []string{"live 0 0 0", "updated test://b"}) {
		t.Errorf("it told %q", told)
	}
	if err := c.Set(all); err != nil {
		t.Fatal(err)
	}
	if told := say(); len(told) != 7 {
		t.Errorf("of all that is wanted again, it told %q", told)
	}
}

// That a listed resource has gone or come is owed still to who follows it for itself from then on: as a change of it.
func TestAResourceThatWasFollowedIsFollowedOnWithoutTheList(t *testing.T) {
	for text, name := range map[string]string{"": "gone", "A": "come back"} {
		for _, how := range []string{"before Set", "after it"} {
			t.Run(name+", known "+how, func(t *testing.T) {
				withLab(t, Want{List: true, Listed: true}, Options{}, someFiles("a", "b"), func(l *lab) {
					l.expect("live 2 2 0")
					if text != "" {
						l.write("test://a", "")
						l.expect("removed test://a")
					}
					if how == "before Set" {
						l.write("test://a", text)
						l.settled()
					}
					l.set(Want{URIs: []string{"test://a"}})
					if how == "after it" {
						if text == "" {
							l.c.queue.removed("test://a", false, 0)
						} else {
							l.c.queue.added(&Resource{URI: "test://a"}, false, 0)
						}
					}
					l.expect("updated test://a", "live 0 1 0")
				})
			})
		}
	}
}

// The same if it is not known yet when the list is not wanted any more: the server has only said that the list changed.
func TestAResourceThatMayHaveGoneIsFollowedOnWithoutTheList(t *testing.T) {
	for _, pending := range []bool{false, true} {
		for _, read := range []bool{false, true} {
			withLab(t, Want{Listed: true, Read: read}, Options{}, someFiles("a", "b"), func(l *lab) {
				l.expect("live 2 2 0")
				if pending {
					l.do(func() {
						l.mutesLocked("resources/list", 1)
						delete(l.files, "test://a")
						l.last().notifyLocked(l.onlyLocked(), "resources/list_changed", nil)
					})
				}
				l.set(Want{URIs: []string{"test://a"}, Read: read})
				l.do(func() { l.mute = nil })
				told := l.told()
				slices.Sort(told)
				want := []string{"live 0 1 0"}
				if pending {
					want = append(want, "updated test://a")
				}
				if pending && read {
					want[1] += " err"
				}
				if !slices.Equal(told, want) {
					t.Errorf("told %q, want %q", told, want)
				}
			})
		}
	}
}
