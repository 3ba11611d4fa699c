package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func (l *lab) read(uri string) string {
	l.t.Helper()
	contents, err := l.c.Read(l.t.Context(), uri)
	return textOf(contents, err)
}

func TestAnswersAreRememberedWhileTheyAreFresh(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://a"}}, Options{CacheBytes: 100}, func(f *fake) {
		someFiles("a", "b")(f)
		f.ttl = 10_000
	}, func(l *lab) {
		l.expect("live 2 1 0")
		l.requests()
		asked := func(want ...string) {
			t.Helper()
			if log := l.requests(); !slices.Equal(log, want) {
				t.Errorf("the server was asked %q, want %q", log, want)
			}
		}
		for range 2 {
			if got := l.read("test://a"); got != "a" {
				t.Errorf("read %s", got)
			}
		}
		asked("resources/read test://a")
		l.write("test://a", "A")
		if got := l.read("test://a"); got != "A" {
			t.Errorf("after a change was announced: %s", got)
		}
		asked("resources/read test://a")
		time.Sleep(10 * time.Second)
		l.read("test://a")
		asked("resources/read test://a")
		for range 2 {
			if list, err := l.c.List(l.t.Context()); err != nil || len(list) != 2 {
				t.Errorf("list %v, %v", list, err)
			}
		}
		asked("resources/list") // that of the walk is 10 s old
		l.write("test://c", "c")
		l.told()
		l.requests()
		if list, err := l.c.List(l.t.Context()); err != nil || len(list) != 3 {
			t.Errorf("list %v, %v", list, err)
		}
		asked() // that of the walk
		l.do(func() { l.files["test://big"] = string(make([]byte, 200)) })
		l.read("test://big")
		l.read("test://big")
		asked("resources/read test://big", "resources/read test://big") // larger than what may be remembered
		l.read("test://a")
		asked()
		l.cut(errors.New("cut"))
		time.Sleep(time.Second)
		synctest.Wait()
		l.requests()
		l.read("test://a")
		asked("resources/read test://a") // a change may have been missed
	})
}

func TestAnAnswerIsNotRememberedIfAChangeWasAnnouncedMeanwhile(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.ttl = 10_000
	}, func(l *lab) {
		l.expect("live 0 1 0")
		var answer func()
		l.do(func() {
			l.mute = func(c *fakeConn, r request) bool {
				if r.Method != "resources/read" {
					return false
				}
				answer = func() {
					c.answerLocked(r.ID, map[string]any{"ttlMs": 10_000, "contents": []any{map[string]string{"uri": "test://a", "text": "a"}}})
				}
				return true
			}
		})
		var early string
		var reader sync.WaitGroup
		reader.Go(func() { early = l.read("test://a") })
		synctest.Wait()
		l.write("test://a", "A")
		l.do(func() { l.mute = nil; answer() })
		reader.Wait()
		if late := l.read("test://a"); early != "a" || late != "A" {
			t.Errorf("read %s, then %s", early, late)
		}
	})
}

func TestReadsOutliveConnections(t *testing.T) {
	for _, overHTTP := range []bool{false, true} {
		withLab(t, Want{}, Options{}, func(f *fake) {
			f.overHTTP = overHTTP
			someFiles("a")(f)
			f.mutesLocked("resources/read", 1)
		}, func(l *lab) {
			var got string
			var reader sync.WaitGroup
			reader.Go(func() { got = l.read("test://a") })
			synctest.Wait()
			l.do(func() { l.mute = nil })
			l.cut(errors.New("cut"))
			reader.Wait()
			if got != "a" {
				t.Errorf("read %s", got)
			}
		})
	}
}

func TestAReadThatIsGivenUpIsCancelled(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.mutesLocked("resources/read", 1)
	}, func(l *lab) {
		ctx, stop := context.WithTimeout(l.t.Context(), time.Second)
		defer stop()
		if _, err := l.c.Read(ctx, "test://a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Read: %v", err)
		}
		synctest.Wait()
		if log := l.requests(); !slices.Equal(log, []string{"server/discover", "resources/read test://a", "cancel 2"}) {
			t.Errorf("the server was asked %q", log)
		}
	})
}

func TestAReadThatIsNotAnsweredIsNoLoss(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) { f.mutesLocked("resources/read", 1) }, func(l *lab) {
		l.expect("live 0 0 0")
		if _, err := l.c.Read(l.t.Context(), "test://a"); !errors.Is(err, ErrStalled) {
			t.Errorf("Read: %v", err)
		}
		l.expect()
	})
}

// remembering prepares a server that says of all its answers that they are fresh for an hour.
func remembering(names ...string) func(*fake) {
	return func(f *fake) {
		someFiles(names...)(f)
		f.ttl = 3_600_000
	}
}

// Whoever is told that a resource may have changed reads what it holds by then, however fresh an earlier answer was to be.
func TestWhatMayHaveChangedIsReadAnew(t *testing.T) {
	t.Run("by the name of one beneath it", func(t *testing.T) {
		withLab(t, Want{URIs: []string{"test://dir"}}, Options{}, remembering("dir"), func(l *lab) {
			l.expect("live 0 1 0")
			l.read("test://dir")
			l.do(func() {
				l.files["test://dir"] = "DIR"
				l.last().notifyLocked(l.onlyLocked(), "resources/updated", map[string]any{"uri": "test://dir/x"})
			})
			l.expect("updated test://dir")
			if got := l.read("test://dir"); got != "DIR" {
				t.Errorf("read %s", got)
			}
		})
	})
	t.Run("by another spelling", func(t *testing.T) {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, remembering("a"), func(l *lab) {
			l.expect("live 0 1 0")
			l.read("test://a")
			l.do(func() {
				l.files["test://a"] = "A"
				l.last().notifyLocked(l.onlyLocked(), "resources/updated", map[string]any{"uri": "TEST://A"})
			})
			l.expect("updated test://a")
			if got := l.read("test://a"); got != "A" {
				t.Errorf("read %s", got)
			}
		})
	})
	t.Run("before it was followed", func(t *testing.T) {
		withLab(t, Want{}, Options{}, remembering("a"), func(l *lab) {
			l.expect("live 0 0 0")
			l.read("test://a")
			l.write("test://a", "A") // nobody is told
			l.set(Want{URIs: []string{"test://a"}})
			l.expect("live 0 1 0")
			if got := l.read("test://a"); got != "A" {
				t.Errorf("read %s", got)
			}
		})
	})
	t.Run("by its entry in the list", func(t *testing.T) {
		withLab(t, Want{Listed: true}, Options{}, remembering("a"), func(l *lab) {
			l.expect("live 1 1 0")
			l.read("test://a")
			l.do(func() { l.files["test://a"] = "longer than before" })
			l.set(Want{Listed: true, Tools: true})
			l.expect("live 1 1 0")
			time.Sleep(time.Minute)
			l.expect("updated test://a")
			if got := l.read("test://a"); got != "longer than before" {
				t.Errorf("read %s", got)
			}
		})
	})
}

// A walk that began before the list was followed may not know what its changes would have told.
func TestAListThatWasWalkedBeforeItWasFollowedIsNotRemembered(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.ttl = 3_600_000
	}, func(l *lab) {
		l.expect("live 0 0 0")
		var late func()
		l.do(func() {
			l.mute = func(c *fakeConn, r request) bool {
				if r.Method != "resources/list" {
					return false
				}
				l.mute = nil
				late = func() {
					c.answerLocked(r.ID, map[string]any{"resources": []any{map[string]any{"uri": "test://old"}}, "ttlMs": 3_600_000})
				}
				return true
			}
		})
		var reader sync.WaitGroup
		reader.Go(func() {
			if _, err := l.c.List(l.t.Context()); err != nil {
				l.t.Error(err)
			}
		})
		synctest.Wait()
		l.set(Want{List: true})
		l.expect("live 1 0 0")
		l.do(late)
		reader.Wait()
		if got, err := l.c.List(l.t.Context()); err != nil || len(got) != 1 || got[0].URI != "test://a" {
			t.Errorf("list %v, %v", got, err)
		}
	})
}
