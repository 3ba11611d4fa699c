package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// answersLocked has the server answer each request of a method with what is given.
func (f *fake) answersLocked(method string, answer func(r request) any) {
	f.mute = func(c *fakeConn, r request) bool {
		if r.Method == method {
			c.answerLocked(r.ID, answer(r))
		}
		return r.Method == method
	}
}

// A ttlMs that makes no sense is as if it were 0 ("clients SHOULD ignore it"), and what is around it counts.
func TestATTLMayBeAnything(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1500": 1500 * time.Millisecond, "0.5": 500 * time.Microsecond, "0": 0, "-1": 0, "1e400": maxTTL, "-1e400": 0, "9223372036854775807": maxTTL,
		`"1500"`: 0, "null": 0, "{}": 0, "true": 0, "[1]": 0,
	} {
		var got struct{ TTLMs lifetime }
		if err := json.Unmarshal([]byte(`{"ttlMs":`+text+`}`), &got); err != nil || time.Duration(got.TTLMs) != want {
			t.Errorf("%s: %v, want %v, %v", text, time.Duration(got.TTLMs), want, err)
		}
	}
	withLab(t, Want{List: true, URIs: []string{"test://a"}, Read: true}, Options{}, func(f *fake) {
		f.mute = func(c *fakeConn, r request) bool {
			answers := map[string]string{
				"resources/list": `{"resources":[{"uri":"test://a"}],"ttlMs":"soon"}`,
				"resources/read": `{"contents":[{"uri":"test://a","text":"a"}],"ttlMs":1e999}`,
			}
			if answer, ok := answers[r.Method]; ok {
				c.answerLocked(r.ID, jsonRaw(answer))
				return true
			}
			return false
		}
	}, func(l *lab) { l.expect("live 1 1 0") })
}

// A member of an entry that makes no sense is as if it were not there: the resource is.
func TestAnEntryWithOddMembersIsListed(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		f.answersLocked("resources/list", func(request) any {
			return jsonRaw(`{"resources":[{"uri":"test://a","size":"12"},{"uri":"test://b","size":1e400,"annotations":7},{"uri":"test://c","size":1e30,"name":5},
				{"uri":"test://d","size":-3},{"uri":"test://e","size":7},{"name":"none"},{"uri":7},7]}`)
		})
	}, func(l *lab) {
		l.expect("live 5 0 0")
		var sizes []string
		for _, r := range l.c.Resources() {
			sizes = append(sizes, fmt.Sprint(r.URI, " ", r.Size))
		}
		if got := strings.Join(sizes, ", "); got != "test://a 0, test://b 0, test://c 0, test://d 0, test://e 7" {
			t.Errorf("listed are %s", got)
		}
	})
}

// Pages that go on for ever with nothing on them are given up.
func TestPagesWithoutEndAreGivenUp(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		n := 0
		f.answersLocked("resources/list", func(request) any {
			if n++; n > 10*maxEmpty {
				return map[string]any{"resources": []any{}}
			}
			return map[string]any{"resources": []any{}, "nextCursor": fmt.Sprint(n)}
		})
	}, func(l *lab) {
		e, err := l.c.Next(l.t.Context())
		if err != nil || e.Kind != Lost || !errors.Is(e.Err, errNoEnd) {
			t.Errorf("told %v %v, %v", e.Kind, e.Err, err)
		}
	})
}

// A list of tools whose pages lead in a circle is looked at once round.
func TestToolsInACircleAreLookedAtOnce(t *testing.T) {
	withLab(t, Want{Tools: true}, Options{}, func(f *fake) {
		f.honour = func(filter) filter { return filter{} }
		f.answersLocked("tools/list", func(request) any { return map[string]any{"tools": []any{}, "nextCursor": "again"} })
	}, func(l *lab) {
		l.expect("live 0 0 0")
		if n := len(l.requests()); n > 10 {
			t.Errorf("%d requests", n)
		}
	})
}

// A list that changes whenever it is walked is walked some times a second, and a slow one for half of the time at most.
func TestAListThatAlwaysChangesIsWalkedAtAPace(t *testing.T) {
	for _, slow := range []time.Duration{0, 500 * time.Millisecond} {
		withLab(t, Want{List: true}, Options{}, nil, func(l *lab) {
			l.expect("live 0 0 0")
			l.do(func() {
				n := 0
				l.mute = func(c *fakeConn, r request) bool {
					if r.Method != "resources/list" {
						return false
					}
					if n++; n < 10_000 { // or it would go on for ever where nothing holds it back
						for id := range c.listens {
							c.notifyLocked(id, "resources/list_changed", nil)
						}
					}
					if slow == 0 {
						return false
					}
					c.workers.Go(func() {
						if rest(l.t.Context(), slow) {
							c.f.mu.Lock()
							defer c.f.mu.Unlock()
							c.serveLocked(r)
						}
					})
					return true
				}
				for id := range l.last().listens {
					l.last().notifyLocked(id, "resources/list_changed", nil)
				}
			})
			l.requests()
			time.Sleep(10 * time.Second)
			if n := len(l.requests()); n > 170 || slow > 0 && n > 12 || n < 9 {
				t.Errorf("walks of %v: %d requests in 10 s", slow, n)
			}
			l.do(func() { l.mute = nil; l.files["test://new"] = "new" })
			time.Sleep(3 * time.Second)
			l.expect("added test://new")
		})
	}
}

// A name that is longer than any that can be followed does not keep the client from anything else, as looking for each
// beginning of it would for hours.
func TestAHugeNameIsTakenQuickly(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, nil, func(l *lab) {
		l.expect("live 0 1 0")
		l.do(func() {
			l.last().notifyLocked(l.onlyLocked(), "resources/updated", map[string]any{"uri": strings.Repeat("/", 32<<20)})
		})
		l.expect("updated test://a")
	})
}

// Who has too much to do is asked when it says, and not before.
func TestRetryAfterIsHeeded(t *testing.T) {
	for name, busy := range map[string]func(c *fakeConn, r request){
		"without a message": func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 503, End: true, Err: &wire.StatusError{Status: 503, RetryAfter: 2 * time.Minute}})
		},
		"with a message": func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 503, RetryAfter: 2 * time.Minute, Message: &wire.Message{ID: r.ID, Error: &Error{Code: -32603, Message: "busy"}}})
		},
		"for ever": func(c *fakeConn, r request) {
			c.emitLocked(wire.Event{Request: r.ID, Status: 429, End: true, Err: &wire.StatusError{Status: 429, RetryAfter: 1 << 60}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			withLab(t, Want{}, Options{}, func(f *fake) {
				f.overHTTP = true
				f.mute = func(c *fakeConn, r request) bool {
					busy(c, r)
					return true
				}
			}, func(l *lab) {
				time.Sleep(110 * time.Second)
				if l.requests(); len(l.dials) != 1 {
					t.Errorf("%d connections", len(l.dials))
				}
				l.do(func() { l.mute = nil })
				time.Sleep(11 * time.Minute)
				if told := l.told(); len(told) != 2 || told[1] != "live 0 0 0" {
					t.Errorf("told %q", told)
				}
			})
		})
	}
}

// A read that is refused for a while is asked for again then, and what it gives is what is known when Live is told.
func TestAReadThatIsRefusedForAWhileIsWaitedFor(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}, Read: true}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.overHTTP = true
		refused := false
		f.mute = func(c *fakeConn, r request) bool {
			if r.Method != "resources/read" || refused {
				return false
			}
			refused = true
			c.emitLocked(wire.Event{Request: r.ID, Status: 429, End: true, Err: &wire.StatusError{Status: 429, RetryAfter: 10 * time.Second}})
			return true
		}
	}, func(l *lab) {
		time.Sleep(9 * time.Second)
		synctest.Wait()
		l.expect()
		time.Sleep(10 * time.Second)
		l.expect("live 0 1 0")
		if contents, err := l.c.Contents("test://a"); textOf(contents, err) != "a" {
			t.Errorf("contents %v, %v", contents, err)
		}
	})
}

// So is a look at what is polled: it is not the last.
func TestALookThatIsRefusedForAWhileIsNotTheLast(t *testing.T) {
	for _, read := range []bool{false, true} {
		withLab(t, Want{URIs: []string{"test://a"}, Read: read}, Options{}, func(f *fake) {
			deaf("a")(f)
			f.overHTTP = true
		}, func(l *lab) {
			l.expect("live 0 1 1")
			refused := 0
			l.do(func() {
				l.mute = func(c *fakeConn, r request) bool {
					if r.Method != "resources/read" || refused > 0 {
						return false
					}
					refused++
					c.emitLocked(wire.Event{Request: r.ID, Status: 429, End: true, Err: &wire.StatusError{Status: 429, RetryAfter: 10 * time.Second}})
					return true
				}
			})
			time.Sleep(5 * time.Second)
			l.write("test://a", "A")
			time.Sleep(time.Minute)
			want := "updated test://a"
			if read {
				want += " A"
			}
			if l.expect(want); refused != 1 {
				t.Error("no look was refused")
			}
		})
	}
}

// So is a server that opens no stream of announcements for a while.
func TestAStreamThatIsRefusedForAWhileIsWaitedFor(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.legacy, f.overHTTP = "2025-11-25", true
		f.followErr = &wire.StatusError{Status: 429, RetryAfter: 2 * time.Minute}
	}, func(l *lab) {
		time.Sleep(110 * time.Second)
		if l.requests(); len(l.dials) != 1 {
			t.Errorf("%d connections", len(l.dials))
		}
	})
}

// A page that is refused since the server has too much to do is no cursor that it does not take: the list is not walked again
// and again. It is walked when the server says; if that helps nothing, the connection is lost by that reason.
func TestAPageThatIsRefusedForAWhileIsNoStaleCursor(t *testing.T) {
	for _, status := range []int{429, 503} {
		withLab(t, Want{List: true}, Options{}, func(f *fake) {
			someFiles("a", "b", "c", "d")(f)
			f.overHTTP = true
			f.mute = func(c *fakeConn, r request) bool {
				if r.Params.Cursor == "" {
					return false
				}
				c.emitLocked(wire.Event{Request: r.ID, Status: status, RetryAfter: time.Minute, Message: &wire.Message{ID: r.ID, Error: &Error{Code: -32603, Message: "busy"}}})
				return true
			}
		}, func(l *lab) {
			time.Sleep(50 * time.Second)
			walks := slices.DeleteFunc(l.requests(), func(r string) bool { return r != "resources/list" })
			if len(walks) != 1 || len(l.dials) != 1 {
				t.Errorf("%d walks, %d connections", len(walks), len(l.dials))
			}
			busy := l.mute
			l.do(func() { l.mute = nil })
			time.Sleep(time.Minute)
			l.expect("live 4 0 0")
			l.do(func() { l.mute = busy })
			l.write("test://new", "new")
			l.expect()
			l.do(func() { l.mute = nil })
			time.Sleep(70 * time.Second)
			l.expect("added test://new")
			l.do(func() { l.mute = busy })
			l.write("test://newer", "newer")
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			l.lostBy("resources/list: busy (-32603)")
		})
	}
}

// A look at a list of tools that is refused for a while says nothing of the list, loses nothing else, and is not the last.
func TestALookAtToolsThatIsRefusedForAWhileIsNotTheLast(t *testing.T) {
	for name, refuse := range map[string]func(r request) wire.Event{
		"without a message": func(r request) wire.Event {
			return wire.Event{Request: r.ID, Status: 429, End: true, Err: &wire.StatusError{Status: 429, RetryAfter: time.Minute}}
		},
		"with a message": func(r request) wire.Event {
			return wire.Event{Request: r.ID, Status: 503, RetryAfter: time.Minute, Message: &wire.Message{ID: r.ID, Error: &Error{Code: -32603, Message: "busy"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			withLab(t, Want{Tools: true, URIs: []string{"test://a"}}, Options{}, func(f *fake) {
				f.overHTTP = true
				f.honour = func(asked filter) filter {
					asked.Tools = false
					return asked
				}
			}, func(l *lab) {
				l.expect("live 0 1 0")
				l.do(func() {
					l.mute = func(c *fakeConn, r request) bool {
						if r.Method != "tools/list" {
							return false
						}
						refused++
						c.emitLocked(refuse(r))
						return true
					}
				})
				time.Sleep(50 * time.Second)
				if l.expect(); refused != 1 {
					t.Errorf("it was refused %d times", refused)
				}
				l.write("test://a", "A")
				l.expect("updated test://a")
				l.do(func() { l.mute, l.files["tools"] = nil, "another" })
				time.Sleep(time.Minute)
				l.expect("tools changed")
			})
		})
	}
}

// A URI that is in no listen's reach cannot be followed, whoever lists it.
func TestAListedURIWithoutMeasureKeepsNothingFromBeingFollowed(t *testing.T) {
	huge := strings.Repeat("x", maxFilterBytes+1)
	withLab(t, Want{Listed: true}, Options{}, someFiles("a", huge), func(l *lab) {
		l.expect("live 1 1 0")
		l.says(1, "the server lists a URI that is too long")
		l.write("test://a", "A")
		l.expect("updated test://a")
	})
}

// "Unlike base JSON-RPC, the ID MUST NOT be null" (basic/index, "Requests"): with one it is no request, and what it tells counts.
func TestANotificationMayHaveANullID(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, someFiles("a"), func(l *lab) {
		l.expect("live 0 1 0")
		l.do(func() {
			l.last().sayLocked("", jsonRaw(`{"jsonrpc":"2.0","id":null,"method":"notifications/resources/updated","params":{"uri":"test://a"}}`))
		})
		l.expect("updated test://a")
	})
}
