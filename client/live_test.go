package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

func someFiles(names ...string) func(*fake) {
	return func(f *fake) {
		for _, name := range names {
			f.files["test://"+name] = name
		}
	}
}

// mutes has the server leave requests of a method unanswered, from the nth on, until the returned function is called.
func (f *fake) mutesLocked(method string, n int) (answer func()) {
	var waiting []func()
	seen := 0
	f.mute = func(c *fakeConn, r request) bool {
		if r.Method != method {
			return false
		}
		if seen++; seen < n {
			return false
		}
		waiting = append(waiting, func() { c.serveLocked(r) })
		return true
	}
	return func() {
		f.mute = nil
		for _, serve := range waiting {
			serve()
		}
		waiting = nil
	}
}

// answersLateLocked has the server answer the next request of a method with what is there then, once the returned function is called.
func (f *fake) answersLateLocked(method string) (answer func()) {
	say := func() {}
	f.mute = func(c *fakeConn, r request) bool {
		if r.Method != method {
			return false
		}
		f.mute = nil
		c.stalled = true
		c.serveLocked(r)
		answers := c.held
		c.stalled, c.held = false, nil
		say = func() {
			for _, e := range answers {
				c.emitLocked(e)
			}
		}
		return true
	}
	return func() { say() }
}

func TestNothingIsToldBeforeEveryListenIsAcknowledged(t *testing.T) {
	var answer func()
	withLab(t, Want{Listed: true, URIs: []string{"test://z"}}, Options{MaxURIs: 2}, func(f *fake) {
		someFiles("a", "b", "c", "d")(f)
		answer = f.mutesLocked("subscriptions/listen", 3)
	}, func(l *lab) {
		l.expect() // flags and z are acknowledged, the list is walked, two further listens are not
		l.write("test://a", "A")
		l.expect()
		if log := strings.Join(l.requests(), ", "); log != "server/discover, subscriptions/listen, resources/list, resources/list test://c, subscriptions/listen, subscriptions/listen" {
			t.Errorf("the server was asked %s", log)
		}
		l.do(answer)
		l.expect("live 4 5 0", "updated test://a")
	})
}

func TestAResourceIsAddedWhenItsOwnListenIsAcknowledged(t *testing.T) {
	for _, read := range []bool{false, true} {
		withLab(t, Want{Listed: true, Read: read}, Options{}, someFiles("a"), func(l *lab) {
			l.expect("live 1 1 0")
			var answer func()
			l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
			l.write("test://b", "b")
			l.expect()
			l.write("test://b", "B") // nobody announces that yet
			l.expect()
			l.do(answer)
			if read {
				l.expect("added test://b B")
			} else {
				l.expect("added test://b")
			}
		})
	}
}

func TestContentsAreReadAfterTheirListenIsAcknowledged(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://gone"}, Read: true}, Options{}, someFiles("a"), func(l *lab) {
		l.expect("live 0 2 0")
		if log := l.requests(); !slices.Equal(log, []string{"server/discover", "subscriptions/listen", "resources/read test://a", "resources/read test://gone"}) {
			t.Errorf("the server was asked %q", log)
		}
		contents, err := l.c.Contents("test://a")
		if err != nil || len(contents) != 1 || string(contents[0].Data) != "a" || !contents[0].Text || contents[0].MIMEType != "text/plain" {
			t.Errorf("contents %+v, %v", contents, err)
		}
		var fault *Error
		if _, err := l.c.Contents("test://gone"); !errors.As(err, &fault) || fault.Code != jsonrpc.InvalidParams {
			t.Errorf("contents of nothing: %v", err)
		}
		if _, err := l.c.Contents("test://other"); err != ErrNotRead {
			t.Errorf("contents of what is not followed: %v", err)
		}
		l.write("test://gone", "here")
		l.expect("updated test://gone here")
		l.write("test://gone", "")
		l.expect("updated test://gone err")
	})
}

func TestWhatChangesDuringAReadIsReadAgain(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}, Read: true}, Options{}, someFiles("a"), func(l *lab) {
		l.expect("live 0 1 0")
		var late []func()
		l.do(func() {
			l.mute = func(c *fakeConn, r request) bool {
				text := l.files[r.Params.URI]
				late = append(late, func() {
					c.answerLocked(r.ID, map[string]any{"contents": []any{map[string]string{"uri": r.Params.URI, "text": text}}})
				})
				return r.Method == "resources/read"
			}
		})
		l.write("test://a", "2")
		l.write("test://a", "3")
		l.do(func() { l.mute = nil; late[0]() })
		l.expect("updated test://a 3")
	})
}

func TestAWantOfNothingIsLive(t *testing.T) {
	withLab(t, Want{}, Options{}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		if ids := l.listens(); len(ids) != 0 {
			t.Errorf("listens %q are open", ids)
		}
	})
}

func TestListsOfOtherKindsAndExtensionsAreFollowed(t *testing.T) {
	want := Want{Tools: true, Prompts: true, Extensions: map[string]json.RawMessage{"com.example/ticks": json.RawMessage(`{"every":5}`)}}
	withLab(t, want, Options{MaxNotifications: 2}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		l.do(func() {
			c := l.last()
			for id, f := range c.listens {
				if got := fmt.Sprint(f.Extension); got != "map[every:5]" || !f.Tools || !f.Prompts || f.Resources {
					t.Errorf("the filter is %+v", f)
				}
				c.notifyLocked(id, "tools/list_changed", nil)
				c.notifyLocked(id, "prompts/list_changed", nil)
				c.notifyLocked(id, "resources/list_changed", nil) // not asked for
				for i := range 4 {
					c.notifyLocked(id, "com.example/tick", map[string]any{"n": i})
				}
				c.notifyLocked(id, "progress", nil)
			}
		})
		l.expect("tools changed", "prompts changed", "notification notifications/com.example/tick 2", "notification notifications/com.example/tick 0")
		l.cut(errors.New("cut"))
		time.Sleep(time.Second)
		l.expect("lost 1 499.999999ms", "live 0 0 0", "tools changed", "prompts changed") // all may have been missed
	})
}

func TestStatusSaysHowThingsStand(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://a", "test://b"}}, Options{}, func(f *fake) {
		f.honour = func(asked filter) filter { return filter{URIs: []string{"test://a"}} }
	}, func(l *lab) {
		l.expect("live 0 2 1")
		s := l.c.Status()
		if !s.Live || s.Revision != "2026-07-28" || s.Server != "fake 7" || s.Listens != 1 ||
			!slices.Equal(s.Polled, []string{"test://b"}) || !slices.Equal(s.PolledLists, []string{"resources"}) {
			t.Errorf("status %+v", s)
		}
		for _, warning := range []string{"does not announce changes of a list", "does not announce changes of some resources"} {
			if !strings.Contains(l.said.String(), warning) {
				t.Errorf("it did not warn that the server %s: %s", warning, l.said)
			}
		}
		var answer func()
		l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
		l.set(Want{URIs: []string{"test://a", "test://c"}})
		if l.told(); l.c.Status().Live {
			t.Error("status is live before what was set is followed")
		}
		l.do(answer)
		if l.told(); !l.c.Status().Live {
			t.Error("status is not live though what was set is followed")
		}
		l.cut(errors.New("cut"))
		if s := l.c.Status(); s.Live || s.Listens != 0 || s.Revision != "" {
			t.Errorf("status after the loss %+v", s)
		}
	})
}

// Whoever is told of Live or Lost finds the status to say so.
func TestTheStatusIsNotBehindWhatIsTold(t *testing.T) {
	for range 100 {
		withLab(t, Want{}, Options{}, nil, func(l *lab) {
			l.expect("live 0 0 0")
			for range 3 {
				wrong := make(chan Kind, 2)
				go func() {
					defer close(wrong)
					for range 2 {
						if e, err := l.c.Next(l.t.Context()); err != nil || l.c.Status().Live != (e.Kind == Live) {
							wrong <- e.Kind
						}
					}
				}()
				l.cut(errors.New("cut"))
				time.Sleep(time.Minute)
				for kind := range wrong {
					l.t.Errorf("told %v, and the status says otherwise", kind)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}
