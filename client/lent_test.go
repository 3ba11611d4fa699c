package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What somebody has read is known to them alone also if the connection is lost before it is gone again.
func TestWhatCameAndWentOverALossIsToldToWhoHasReadIt(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}, Read: true}, Options{}, deaf("a", "b"), func(l *lab) {
		l.told()
		for _, uri := range []string{"test://a", "test://b"} {
			l.write(uri, "for a moment")
		}
		if got := l.read("test://a"); got != "for a moment" {
			t.Fatalf("read %q", got)
		}
		l.cut(errors.New("cut"))
		for _, name := range []string{"a", "b"} {
			l.write("test://"+name, name)
		}
		time.Sleep(time.Second)
		l.expect("lost 1 499.999999ms", "live 0 2 2", "updated test://a a")
	})
}

// What was told as changed since it was read is not told once more when it becomes polled.
func TestWhatWasToldSinceItWasReadIsNotToldAgain(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.told()
		l.read("test://a")
		l.write("test://a", "A")
		l.expect("updated test://a")
		l.do(func() { l.honour = func(filter) filter { return filter{} } })
		l.set(Want{URIs: []string{"test://a"}})
		time.Sleep(time.Minute)
		l.expect("live 0 1 1")
	})
}

// An answer to Read that is older than a look is not remembered, so that whoever is told of the change finds it.
func TestWhatALookHasFoundOtherwiseIsNotAnsweredFromTheCache(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		deaf("a")(f)
		f.ttl = 60_000
	}, func(l *lab) {
		l.told()
		var answer func()
		l.do(func() { answer = l.mutesLocked("resources/read", 1) })
		time.Sleep(80 * time.Second) // a look is under way
		l.do(func() { l.mute = nil })
		if got := l.read("test://a"); got != "a" {
			t.Fatalf("read %q", got)
		}
		l.write("test://a", "")
		l.do(answer)
		l.expect("updated test://a")
		if got := l.read("test://a"); got == "a" {
			t.Error("it is gone, and read as it was")
		}
	})
}

// What List gave between two looks is known to who called it alone: that it is otherwise again is told.
func TestWhatCameAndWentBetweenTwoLooksIsToldToWhoHasListedIt(t *testing.T) {
	for _, want := range []Want{{List: true}, {Listed: true}, {Listed: true, Read: true}} {
		withLab(t, want, Options{}, deaf("a", "b", "c"), func(l *lab) {
			l.told()
			time.Sleep(10 * time.Minute)
			l.write("test://a", "")
			l.write("test://new", "new")
			if got := l.list(); !slices.Equal(got, []string{"test://b", "test://c", "test://new"}) {
				t.Fatalf("listed %q", got)
			}
			l.write("test://a", "a")
			l.write("test://new", "")
			time.Sleep(time.Minute)
			told := l.told()
			slices.Sort(told)
			added := "added test://a"
			if want.Read {
				added += " a"
			}
			if !slices.Equal(told, []string{added, "removed test://new"}) {
				t.Errorf("told %q", told)
			}
			time.Sleep(10 * time.Minute)
			l.expect()
		})
	}
}

// What List gave before it was followed, and told, is told as gone.
func TestWhatWasListedBeforeItWasToldIsToldAsGone(t *testing.T) {
	withLab(t, Want{Listed: true}, Options{}, someFiles("a"), func(l *lab) {
		l.told()
		var answer func()
		l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
		l.write("test://b", "b")
		time.Sleep(time.Second)
		if got := l.list(); len(got) != 2 {
			t.Fatalf("listed %q", got)
		}
		time.Sleep(time.Second)
		l.do(answer)
		time.Sleep(time.Second)
		l.write("test://b", "")
		time.Sleep(time.Second)
		l.expect("removed test://b")
	})
}

func (l *lab) list() (uris []string) {
	l.t.Helper()
	list, err := l.c.List(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range list {
		uris = append(uris, r.URI)
	}
	return uris
}

// A resource that has come and gone before Next was called is told as gone to who has read it.
func TestWhatHasGoneBeforeItWasToldIsToldToWhoHasReadIt(t *testing.T) {
	for _, listed := range []bool{false, true} {
		withLab(t, Want{List: true, Listed: listed}, Options{}, someFiles("a"), func(l *lab) {
			l.told()
			for _, uri := range []string{"test://b", "test://c"} {
				l.write(uri, "for a moment")
				l.settled()
			}
			l.read("test://b")
			for _, uri := range []string{"test://b", "test://c"} {
				l.write(uri, "")
				l.settled()
			}
			l.expect("removed test://b")
		})
	}
}

// A server whose resource, and whose list, is another each time is asked and told of no more often by who reads and lists
// whenever that is told; nor is more and more remembered of what it said.
func TestWhatIsOtherwiseEachTimeIsNotToldWithoutEnd(t *testing.T) {
	n := 0
	withLab(t, Want{List: true, URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		deaf("a")(f)
		f.page = 100
		f.mute = func(_ *fakeConn, r request) bool {
			switch n++; r.Method {
			case "resources/read":
				f.files["test://a"] = fmt.Sprint(n)
			case "resources/list":
				f.files = map[string]string{}
				for i := range 10 {
					f.files[fmt.Sprint("test://", n, "/", i)] = "x"
				}
			}
			return false
		}
	}, func(l *lab) {
		l.told()
		updates := 0
		for range 600 {
			time.Sleep(time.Second)
			for _, e := range l.told() {
				if e == "updated test://a" {
					updates++
				}
				l.read("test://a")
			}
			l.requests()
			l.list()
			if asked := l.requests(); len(asked) != 1 {
				t.Fatalf("one list was asked for, and the server was asked %q", asked)
			}
		}
		if updates > 300 {
			t.Errorf("told %d times in 600 s", updates)
		}
		for range 1000 {
			l.list()
			synctest.Wait()
			if n := len(l.c.lent.lists); n > 2*(10+10)+spareLent+10+10 {
				t.Fatalf("%d names are remembered", n)
			}
		}
	})
}

// Nor if the list is so long that two of them are more than are remembered at the least.
func TestALongListThatIsOtherwiseEachTimeIsNotWalkedForEachCall(t *testing.T) {
	n := 0
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		f.page = 10_000
		f.mute = func(_ *fakeConn, r request) bool {
			if r.Method == "resources/list" {
				n++
				f.files = map[string]string{}
				for i := range 1000 {
					f.files[fmt.Sprint("test://", n, "/", i)] = "x"
				}
			}
			return false
		}
	}, func(l *lab) {
		l.told()
		time.Sleep(10 * time.Second)
		l.requests()
		const calls = 60
		for range calls {
			l.list()
			time.Sleep(time.Second)
			if len(l.told()) > 0 {
				l.list()
			}
		}
		if walks := len(l.requests()) - calls; walks > calls {
			t.Errorf("%d lists that were asked for, and told of, made for %d more", calls, walks)
		}
	})
}

// A list that is answered after the walk that came of the same change is older than what is known.
func TestAListThatAWalkHasOvertakenIsLookedAtAgain(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, someFiles("a"), func(l *lab) {
		l.told()
		var answer func()
		l.do(func() {
			l.mute = func(c *fakeConn, r request) bool {
				if r.Method != "resources/list" {
					return false
				}
				l.mute = nil
				answer = func() {
					c.answerLocked(r.ID, map[string]any{"resources": []any{map[string]string{"uri": "test://a"}, map[string]string{"uri": "test://moment"}}})
				}
				return true
			}
		})
		var listed []string
		var caller sync.WaitGroup
		caller.Go(func() { listed = l.list() })
		synctest.Wait()
		l.write("test://moment", "m")
		l.write("test://moment", "")
		time.Sleep(10 * time.Second)
		l.expect() // nobody has seen it
		l.do(answer)
		caller.Wait()
		if !slices.Contains(listed, "test://moment") {
			t.Fatalf("listed %q", listed)
		}
		time.Sleep(10 * time.Second)
		l.expect("removed test://moment")
	})
}

// A list that is neither announced nor polled is compared after a loss with what was listed, too.
func TestAListThatIsNotPolledIsLentAsWell(t *testing.T) {
	withLab(t, Want{List: true}, Options{Poll: -1}, deaf("a"), func(l *lab) {
		l.told()
		l.write("test://moment", "m")
		l.list()
		l.write("test://moment", "")
		l.cut(errors.New("cut"))
		time.Sleep(10 * time.Second)
		l.expect("lost 1 499.999999ms", "live 1 0 0", "removed test://moment")
	})
}

// What is listed is not followed again right after a loss: whoever reads it then may be answered with what is gone when it is.
func TestWhatWasReadAfterALossBeforeItIsFollowedAgainIsLent(t *testing.T) {
	withLab(t, Want{Listed: true, Read: true}, Options{}, someFiles("a"), func(l *lab) {
		l.told()
		var answer func()
		l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
		l.cut(errors.New("cut"))
		time.Sleep(time.Second)
		l.write("test://a", "moment")
		if got := l.read("test://a"); got != "moment" {
			t.Fatalf("read %q", got)
		}
		l.write("test://a", "a")
		l.do(answer)
		time.Sleep(10 * time.Second)
		l.expect("lost 1 499.999999ms", "live 1 1 0", "updated test://a a")
	})
}

// What is not told yet as added is not listed out of memory, where nobody would note who knows of it.
func TestAListIsNotAnsweredFromTheCacheWhileThereIsMoreThanWasTold(t *testing.T) {
	for _, want := range []Want{{Listed: true}, {Listed: true, Read: true}} {
		withLab(t, want, Options{}, remembering("a"), func(l *lab) {
			l.told()
			var answer func()
			l.do(func() { answer = l.mutesLocked("subscriptions/listen", 1) })
			l.write("test://b", "b")
			time.Sleep(time.Second)
			if got := l.list(); !slices.Contains(got, "test://b") {
				t.Fatalf("listed %q", got)
			}
			time.Sleep(time.Second)
			l.do(answer)
			time.Sleep(time.Second)
			l.write("test://b", "")
			time.Sleep(time.Minute)
			l.expect("removed test://b")
		})
	}
}

// A read that is answered after the look that came of the acknowledgement is older than what is known.
func TestWhoReadWhatALookHasOvertakenIsToldOfIt(t *testing.T) {
	for _, revision := range []string{"", "2025-11-25"} {
		for _, want := range []Want{{URIs: []string{"test://a"}, Read: true}, {Listed: true, Read: true}} {
			withLab(t, want, Options{}, func(f *fake) {
				someFiles("a")(f)
				f.legacy = revision
			}, func(l *lab) {
				l.told()
				method := "subscriptions/listen"
				if revision != "" {
					method = "resources/subscribe"
				}
				var acknowledge, answer func()
				l.do(func() { acknowledge = l.mutesLocked(method, 1) })
				l.cut(errors.New("cut"))
				time.Sleep(time.Second)
				l.write("test://a", "moment")
				l.do(func() {
					mute := l.mute
					l.mute = func(c *fakeConn, r request) bool {
						if r.Method != "resources/read" || answer != nil {
							return mute(c, r)
						}
						answer = func() {
							c.answerLocked(r.ID, map[string]any{"contents": []any{map[string]string{"uri": r.Params.URI, "text": "moment"}}})
						}
						return true
					}
				})
				var got string
				var caller sync.WaitGroup
				caller.Go(func() { got = l.read("test://a") })
				synctest.Wait()
				l.write("test://a", "a")
				l.do(acknowledge)
				time.Sleep(time.Second)
				l.do(answer)
				caller.Wait()
				time.Sleep(time.Minute)
				if got != "moment" {
					t.Fatalf("read %q", got)
				}
				if told := l.told(); !slices.Contains(told, "updated test://a a") {
					t.Errorf("%q, %+v: told %q", revision, want, told)
				}
			})
		}
	}
}

// What a name held before it was gone is not answered when it has come back, nor while it is gone.
func TestWhatHasComeBackIsReadAnew(t *testing.T) {
	for _, want := range []Want{{Listed: true}, {Listed: true, Read: true}, {List: true}} {
		withLab(t, want, Options{}, remembering("a", "b"), func(l *lab) {
			l.told()
			l.read("test://a")
			announceTheListAlone := func(change func()) {
				l.do(func() {
					change()
					for id, listen := range l.last().listens {
						if listen.Resources {
							l.last().notifyLocked(id, "resources/list_changed", nil)
						}
					}
				})
				time.Sleep(2 * time.Second)
			}
			announceTheListAlone(func() { delete(l.files, "test://a") })
			if got := l.read("test://a"); got != "" {
				t.Errorf("%+v: it is gone, and holds %q", want, got)
			}
			announceTheListAlone(func() { l.files["test://a"] = "new" })
			if got := l.read("test://a"); got != "new" {
				t.Errorf("%+v: it has come back, and holds %q", want, got)
			}
		})
	}
}

// Where no walk can begin, since no listen is acknowledged, a list that is another each time fills no memory.
func TestListsFillNoMemoryWhileNoneIsWalked(t *testing.T) {
	n := 0
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.page = 100
	}, func(l *lab) {
		l.told()
		l.do(func() {
			l.mute = func(_ *fakeConn, r request) bool {
				if r.Method == "resources/list" {
					l.files = map[string]string{}
					for range 50 {
						n++
						l.files[fmt.Sprint("test://", n)] = "x"
					}
				}
				return r.Method == "subscriptions/listen"
			}
		})
		l.cut(errors.New("cut"))
		time.Sleep(time.Second)
		for range 200 {
			l.list()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := len(l.c.lent.lists); n == 0 || n > 2*(2*(50+1)+spareLent)+50 {
			t.Errorf("%d names are remembered", n)
		}
	})
}

// Also if it was read both before it became owed as added and before it became owed as removed.
func TestWhatHasGoneIsOwedToWhoHasReadItTwice(t *testing.T) {
	q := newQueue(1)
	q.live(Event{Kind: Live})
	q.added(&Resource{URI: "test://a"}, false, lookedAt)
	q.removed("test://a", false, lookedAt)
	q.added(&Resource{URI: "test://b"}, false, 1)
	q.removed("test://b", false, 1)
	var told []string
	for e, ok := q.pull(); ok; e, ok = q.pull() {
		told = append(told, inWords(e))
	}
	if want := []string{"live 0 0 0", "removed test://a"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
