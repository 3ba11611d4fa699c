package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

func TestAServerOfAnEarlierRevisionIsFollowed(t *testing.T) {
	withLab(t, Want{Listed: true, URIs: []string{"test://z"}}, Options{}, func(f *fake) {
		someFiles("a", "b")(f)
		f.legacy = "2025-06-18"
	}, func(l *lab) {
		l.expect("live 2 3 0")
		want := []string{"server/discover", "initialize", "notifications/initialized", "resources/subscribe test://z", "resources/list",
			"resources/subscribe test://a", "resources/subscribe test://b"}
		if log := l.requests(); !slices.Equal(log, want) {
			t.Errorf("the server was asked %q", log)
		}
		if s := l.c.Status(); s.Revision != "2025-06-18" || s.Server != "old 1" {
			t.Errorf("status %+v", s)
		}
		l.write("test://a", "A")
		l.write("test://c", "c")
		l.expect("updated test://a", "added test://c")
		l.set(Want{URIs: []string{"test://a"}})
		l.expect("live 0 1 0")
		log := l.requests()
		slices.Sort(log)
		want = []string{"resources/list", "resources/subscribe test://c", "resources/unsubscribe test://b", "resources/unsubscribe test://c", "resources/unsubscribe test://z"}
		if !slices.Equal(log, want) {
			t.Errorf("the server was asked %q", log)
		}
		l.do(func() { l.last().sayLocked("", map[string]any{"jsonrpc": "2.0", "id": "p", "method": "ping"}) })
		l.do(func() { l.last().sayLocked("", map[string]any{"jsonrpc": "2.0", "id": "r", "method": "roots/list"}) })
		if log := l.requests(); !slices.Equal(log, []string{"{}", ""}) {
			t.Errorf("the client answered %q", log)
		}
	})
}

func TestTheEraIsFoundOut(t *testing.T) {
	versions := func(code int, supported ...string) *jsonrpc.Error {
		return &jsonrpc.Error{Code: code, Message: "no", Data: map[string]any{"supported": supported}}
	}
	status := func(n int) func(c *fakeConn, r request) bool {
		return func(c *fakeConn, r request) bool {
			if r.Method != "server/discover" {
				return false
			}
			c.emitLocked(wire.Event{Request: r.ID, Status: n, End: true, Err: &wire.StatusError{Status: n}})
			return true
		}
	}
	for name, c := range map[string]struct {
		overHTTP bool
		legacy   string
		discover *jsonrpc.Error
		mute     func(c *fakeConn, r request) bool
		told     string
		asked    string
		err      error
	}{
		"modern":                  {told: "live 0 0 0", asked: "server/discover"},
		"method not found":        {legacy: "2025-11-25", discover: versions(-32601), told: "live 0 0 0", asked: "server/discover, initialize, notifications/initialized"},
		"any other error":         {legacy: "2024-11-05", discover: versions(-32000), told: "live 0 0 0", asked: "server/discover, initialize, notifications/initialized"},
		"version":                 {legacy: "2025-03-26", discover: versions(-32022, "2024-11-05", "2025-03-26"), told: "live 0 0 0", asked: "server/discover, initialize, notifications/initialized"},
		"no known version":        {discover: versions(-32022, "2030-01-01"), told: "lost 1 499.999999ms", asked: "server/discover", err: ErrVersion},
		"initialize negotiates":   {legacy: "1999-01-01", told: "lost 1 499.999999ms", asked: "server/discover, initialize", err: ErrVersion},
		"headers do not match":    {overHTTP: true, discover: versions(-32020), told: "lost 1 499.999999ms", asked: "server/discover"},
		"400 without a message":   {overHTTP: true, legacy: "2025-11-25", mute: status(400), told: "live 0 0 0", asked: "server/discover, initialize, notifications/initialized"},
		"404 without a message":   {overHTTP: true, legacy: "2025-11-25", mute: status(404), told: "live 0 0 0", asked: "server/discover, initialize, notifications/initialized"},
		"401 is for the user":     {overHTTP: true, legacy: "2025-11-25", mute: status(http.StatusUnauthorized), told: "lost 1 499.999999ms", asked: "server/discover"},
		"503 is for another time": {overHTTP: true, legacy: "2025-11-25", mute: status(http.StatusServiceUnavailable), told: "lost 1 499.999999ms", asked: "server/discover"},
	} {
		t.Run(name, func(t *testing.T) {
			withLab(t, Want{}, Options{}, func(f *fake) {
				f.overHTTP, f.legacy, f.mute = c.overHTTP, c.legacy, c.mute
				f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
					if r.Method == "server/discover" {
						return c.discover
					}
					return nil
				}
			}, func(l *lab) {
				if log := strings.Join(l.requests(), ", "); log != c.asked {
					t.Errorf("the server was asked %s", log)
				}
				e, err := l.c.Next(l.t.Context())
				if err != nil || inWords(e) != c.told || c.err != nil && !errors.Is(e.Err, c.err) {
					t.Errorf("told %s %v, %v", inWords(e), e.Err, err)
				}
			})
		})
	}
}

// A server that offers no stream of its own announces nothing, whatever its capabilities say.
func TestAnEarlierServerWithoutAStreamIsPolled(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		f.overHTTP, f.legacy, f.followErr = true, "2025-11-25", &wire.StatusError{Status: http.StatusMethodNotAllowed}
		someFiles("a")(f)
	}, func(l *lab) {
		l.expect("live 1 1 1")
		if s := l.c.Status(); !slices.Equal(s.PolledLists, []string{"resources"}) {
			t.Errorf("status %+v", s)
		}
		l.do(func() { l.files["test://a"] = "A" })
		time.Sleep(5 * time.Second)
		l.expect("updated test://a")
	})
}

func TestAStreamThatIsNotToBeHadIsALoss(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.overHTTP, f.legacy, f.followErr = true, "2025-11-25", &wire.StatusError{Status: http.StatusUnauthorized}
	}, func(l *lab) { l.expect("lost 1 499.999999ms") })
}

// A command of an earlier revision may not answer what it does not know; a slow one of the modern revision answers late.
func TestACommandThatDoesNotAnswerIsAskedToInitialize(t *testing.T) {
	for _, modern := range []bool{false, true} {
		var answer func()
		withLab(t, Want{List: true}, Options{}, func(f *fake) {
			if !modern {
				f.legacy = "2025-11-25"
			}
			answer = f.mutesLocked("server/discover", 1)
		}, func(l *lab) {
			time.Sleep(6 * time.Second)
			if !modern {
				l.expect("live 0 0 0")
				return
			}
			l.expect()
			l.do(answer)
			l.expect("live 0 0 0")
			if s := l.c.Status(); s.Revision != "2026-07-28" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// TestALateWordOnVersionsIsNoReasonToInitializeTwice, which a server may refuse.
func TestALateWordOnVersionsIsNoReasonToInitializeTwice(t *testing.T) {
	fault := &jsonrpc.Error{Code: -32022, Message: "no", Data: map[string]any{"supported": []string{"2025-06-18"}}}
	for name, say := range map[string]func(c *fakeConn, r request){
		"an error": func(c *fakeConn, r request) { c.failLocked(r.ID, fault) },
		"a result": func(c *fakeConn, r request) { c.answerLocked(r.ID, jsonRaw(`{"supportedVersions":["2025-06-18"]}`)) },
	} {
		for _, refused := range []bool{false, true} {
			t.Run(fmt.Sprint(name, refused), func(t *testing.T) {
				var asked []request
				withLab(t, Want{}, Options{}, func(f *fake) {
					f.legacy = "2025-06-18"
					f.mute = func(c *fakeConn, r request) bool {
						asked = append(asked, r)
						return true
					}
				}, func(l *lab) {
					time.Sleep(6 * time.Second)
					l.do(func() {
						l.mute = nil
						if refused {
							l.last().failLocked(asked[1].ID, jsonrpc.Errorf(jsonrpc.InternalError, "broken"))
						}
						say(l.last(), asked[0])
						if !refused {
							l.last().serveLocked(asked[1])
						}
					})
					if refused {
						l.lostBy("initialize: broken (-32603) (before that, server/discover: the server has stalled)")
						return
					}
					l.expect("live 0 0 0")
					if log := l.requests(); !slices.Equal(log, []string{"server/discover", "initialize", "notifications/initialized"}) {
						t.Errorf("the server was asked %q", log)
					}
				})
			})
		}
	}
}

func TestASupportedVersionIsTakenFromTheAnswer(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.legacy = "2025-11-25"
		f.mute = func(c *fakeConn, r request) bool {
			if r.Method == "server/discover" {
				c.answerLocked(r.ID, json.RawMessage(`{"supportedVersions":["2030-01-01","2025-11-25"]}`))
			}
			return r.Method == "server/discover"
		}
	}, func(l *lab) {
		l.expect("live 0 0 0")
		if s := l.c.Status(); s.Revision != "2025-11-25" {
			t.Errorf("status %+v", s)
		}
	})
}

// Servers of earlier revisions may send notifications before any answer (2025-11-25, basic/transports, "Sending Messages").
func TestEarlierServersMayTellOnAnyAnswer(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}, Read: true}, Options{}, func(f *fake) {
		someFiles("a", "b")(f)
		f.legacy, f.overHTTP = "2025-11-25", true
	}, func(l *lab) {
		l.expect("live 0 2 0")
		l.do(func() {
			l.files["test://b"] = "B"
			l.mute = func(c *fakeConn, r request) bool {
				if r.Method == "resources/read" && r.Params.URI == "test://a" {
					c.sayLocked(string(r.ID), map[string]any{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": map[string]any{"uri": "test://b"}})
				}
				return false
			}
		})
		l.write("test://a", "A")
		told := l.told()
		slices.Sort(told)
		if fmt.Sprint(told) != "[updated test://a A updated test://b B]" {
			t.Errorf("told %q", told)
		}
	})
}

// A command of an earlier revision that answers nothing to what it does not know is found, however short the time.
func TestACommandIsAskedToInitializeWhateverTheTimeout(t *testing.T) {
	for _, opts := range []Options{{Timeout: 3 * time.Second}, {Timeout: 3 * time.Second, EraTimeout: time.Minute}, {EraTimeout: 20 * time.Second}} {
		withLab(t, Want{}, opts, func(f *fake) {
			f.legacy = "2025-11-25"
			f.mutesLocked("server/discover", 1)
		}, func(l *lab) {
			time.Sleep(30 * time.Second)
			l.expect("live 0 0 0")
		})
	}
}
