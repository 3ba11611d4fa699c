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
