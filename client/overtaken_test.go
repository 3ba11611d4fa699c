package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A resource that is another each time is told no more often to who reads it when that is told, and was reading it during a look.
func TestAReadThatALookHasOvertakenMakesNoLooksWithoutEnd(t *testing.T) {
	for _, prepare := range []func(*fake){someFiles("a"), deaf("a")} {
		for _, want := range []Want{{URIs: []string{"test://a"}}, {URIs: []string{"test://a"}, Read: true}} {
			n := 0
			withLab(t, want, Options{}, func(f *fake) {
				prepare(f)
				f.lag = func() time.Duration { return 50 * time.Millisecond }
				f.mute = func(_ *fakeConn, r request) bool {
					if r.Method == "resources/read" {
						n++
						f.files["test://a"] = fmt.Sprint(n)
					}
					return false
				}
			}, func(l *lab) {
				ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
				defer stop()
				told, last := 0, time.Now().Add(2*time.Minute)
				for ctx.Err() == nil {
					next, end := context.WithTimeout(ctx, 130*time.Millisecond)
					e, err := l.c.Next(next)
					end()
					if err == nil && e.Kind == Updated && time.Now().After(last) {
						told++
					}
					if time.Now().Before(last) {
						l.write("test://a", "changed") // is under way while it is read
					}
					if err == nil && e.Kind == Updated || time.Now().Before(last) {
						if _, err := l.c.Read(ctx, "test://a"); err != nil && ctx.Err() == nil {
							t.Fatal(err)
						}
					}
				}
				if told > 100 { // in three minutes; it is polled every few seconds
					t.Errorf("%+v: told %d times", want, told)
				}
			})
		}
	}
}

// What several read at once is remembered again after a change.
func TestReadsAtOnceAreRememberedAgainAfterAChange(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}, Read: true}, Options{}, func(f *fake) {
		remembering("a")(f)
		f.lag = func() time.Duration { return 20 * time.Millisecond }
	}, func(l *lab) {
		time.Sleep(time.Second)
		ctx, stop := context.WithCancel(context.Background())
		var readers sync.WaitGroup
		for i := range 2 {
			readers.Go(func() {
				for ctx.Err() == nil {
					_, _ = l.c.Read(ctx, "test://a")
					time.Sleep(time.Duration(3+i) * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Second)
		l.write("test://a", "A")
		time.Sleep(10 * time.Second)
		l.requests()
		time.Sleep(10 * time.Second)
		if asked := len(l.requests()); asked > 0 {
			t.Errorf("its answers are fresh for an hour, and it was asked for %d times in 10 s", asked)
		}
		stop()
		readers.Wait()
	})
}

// What is announced while somebody reads may be told, and read anew, before they are answered with what was there before: they are
// told once more.
func TestAReadThatAnAnnouncementHasOvertakenIsToldOfIt(t *testing.T) {
	for _, want := range []Want{{URIs: []string{"test://a"}}, {Listed: true}, {Listed: true, Read: true}} {
		withLab(t, want, Options{}, someFiles("a"), func(l *lab) {
			l.told()
			answer, late := l.readsLate("test://a")
			l.write("test://a", "A")
			if told := l.told(); len(told) != 1 {
				t.Errorf("%+v: told %q", want, told)
			}
			l.do(answer)
			if got := <-late; got != "a" {
				t.Fatalf("read %q", got)
			}
			if told := l.told(); len(told) != 1 {
				t.Errorf("%+v: told %q of what has changed since", want, told)
			}
			if got := l.read("test://a"); got != "A" {
				t.Errorf("read %q", got)
			}
			l.expect()
		})
	}
}

// That what somebody reads is followed from now on is no change of it.
func TestAReadThatAnAcknowledgementHasOvertakenIsNoChange(t *testing.T) {
	var acknowledge func()
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		someFiles("a")(f)
		acknowledge = f.mutesLocked("subscriptions/listen", 1)
	}, func(l *lab) {
		var answer func()
		l.do(func() {
			muted := l.mute
			answer = l.answersLateLocked("resources/read")
			late := l.mute
			l.mute = func(c *fakeConn, r request) bool { return muted(c, r) || late(c, r) }
		})
		read := make(chan string, 1)
		go func() { read <- l.read("test://a") }()
		synctest.Wait()
		l.do(acknowledge)
		l.do(answer)
		if got := <-read; got != "a" {
			t.Errorf("read %q", got)
		}
		l.expect("live 0 1 0")
	})
}

// readsLate has somebody read, who is answered late.
func (l *lab) readsLate(uri string) (answer func(), got <-chan string) {
	l.do(func() { answer = l.answersLateLocked("resources/read") })
	late := make(chan string, 1)
	go func() { late <- l.read(uri) }()
	synctest.Wait()
	return answer, late
}

// listsLate has somebody list, who is answered late.
func (l *lab) listsLate() (answer func(), got <-chan []string) {
	l.do(func() { answer = l.answersLateLocked("resources/list") })
	late := make(chan []string, 1)
	go func() { late <- l.list() }()
	synctest.Wait()
	return answer, late
}

// A list that is answered after a look that nobody announced is older than what is known: it is not remembered, and whoever has it is
// told at once of what is otherwise, without another look.
func TestAListThatALookHasOvertakenIsNotAnsweredFromTheCache(t *testing.T) {
	withLab(t, Want{List: true}, Options{Timeout: time.Minute}, func(f *fake) {
		deaf("a", "b")(f)
		f.page, f.ttl = 100, 1_000
	}, func(l *lab) {
		l.told()
		time.Sleep(2 * time.Second) // what was walked is not fresh any more
		answer, late := l.listsLate()
		l.write("test://b", "")
		l.write("test://new", "new")
		for waited := 0; ; waited++ {
			time.Sleep(time.Second)
			if told := l.told(); len(told) > 0 {
				if slices.Sort(told); !slices.Equal(told, []string{"added test://new", "removed test://b"}) {
					t.Fatalf("told %q", told)
				}
				break
			}
			if waited == 50 {
				t.Fatal("there is no look in time")
			}
		}
		l.requests()
		l.do(answer)
		if got := <-late; !slices.Contains(got, "test://b") {
			t.Fatalf("listed %q", got)
		}
		told := l.told()
		if slices.Sort(told); !slices.Equal(told, []string{"added test://new", "removed test://b"}) {
			t.Errorf("told %q", told)
		}
		if got := l.list(); !slices.Equal(got, []string{"test://a", "test://new"}) {
			t.Errorf("listed %q", got)
		}
		if asked := l.requests(); len(asked) > 0 {
			t.Errorf("the server was asked %q", asked)
		}
	})
}

// Whoever is answered with a list may go on only after what is on it was removed again, which they have to be told of.
func TestWhatWasListedIsToldAsGoneHoweverSlowTheCallerIs(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, someFiles("a"), func(l *lab) {
		l.told()
		l.write("test://b", "b") // owed as added
		l.settled()
		a := &ask{ctx: l.t.Context(), list: true, done: make(chan struct{})}
		if err := l.c.await(l.t.Context(), a); err != nil || len(a.resources) != 2 {
			t.Fatalf("%d listed, %v", len(a.resources), err)
		}
		l.write("test://b", "")
		l.settled()
		l.expect("removed test://b")
	})
}
