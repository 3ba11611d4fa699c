package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Names that come and go are not followed for ever, in no era and however they are followed.
func TestNamesThatComeAndGoAreGivenUp(t *testing.T) {
	for name, prepare := range map[string]func(*fake){
		"by listens":       func(f *fake) {},
		"by subscriptions": func(f *fake) { f.legacy = "2025-11-25" },
		"by looks":         func(f *fake) { f.honour = func(asked filter) filter { return filter{Resources: asked.Resources} } },
	} {
		t.Run(name, func(t *testing.T) {
			withLab(t, Want{Listed: true}, Options{MaxURIs: 500}, func(f *fake) {
				someFiles("a")(f)
				f.page = 10_000
				prepare(f)
			}, func(l *lab) {
				for round := range 5 {
					for _, text := range []string{"new", ""} {
						l.do(func() {
							for i := range 600 {
								uri := fmt.Sprintf("test://%d/%d", round, i)
								if text == "" {
									delete(l.files, uri)
								} else {
									l.files[uri] = text
								}
							}
							for id, f := range l.last().listens {
								if f.Resources {
									l.last().notifyLocked(id, "resources/list_changed", nil)
								}
							}
							if l.legacy != "" {
								l.last().notifyLocked("", "resources/list_changed", nil)
							}
						})
						time.Sleep(time.Minute)
						l.told()
					}
				}
				followed := 0
				l.do(func() {
					for _, f := range l.last().listens {
						followed += len(f.URIs)
					}
					followed += len(l.last().subs)
				})
				if polled := len(l.c.Status().Polled); followed+polled > 2*maxUnlisted {
					t.Errorf("%d resources are followed and %d polled of one that is listed", followed, polled)
				}
				if n := len(l.requests()); n > 20_000 {
					t.Errorf("%d requests", n)
				}
				l.write("test://a", "A")
				time.Sleep(45 * time.Second)
				if told := l.told(); !slices.Contains(told, "updated test://a") {
					t.Errorf("told %q", told)
				}
			})
		})
	}
}

// A server may take requests in any order: a resource is subscribed again only when it is known to be unsubscribed.
func TestASubscriptionDoesNotOvertakeItsEnd(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.overHTTP, f.legacy = true, "2025-11-25"
	}, func(l *lab) {
		l.expect("live 0 1 0")
		var answer func()
		l.do(func() { answer = l.mutesLocked("resources/unsubscribe", 1) })
		l.set(Want{})
		l.expect("live 0 0 0")
		l.set(Want{URIs: []string{"test://a"}})
		synctest.Wait()
		l.expect()
		l.do(answer)
		l.expect("live 0 1 0")
		l.write("test://a", "A")
		l.expect("updated test://a")
	})
}

// What is not wanted any more when its subscription is answered is unsubscribed, unless it is wanted anew.
func TestASubscriptionThatComesTooLateIsEnded(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.legacy = "2025-11-25"
		someFiles("a", "b")(f)
	}, func(l *lab) {
		l.expect("live 0 0 0")
		var answer func()
		l.do(func() { answer = l.mutesLocked("resources/subscribe", 1) })
		l.set(Want{URIs: []string{"test://a", "test://b"}})
		synctest.Wait()
		l.set(Want{})
		synctest.Wait()
		l.set(Want{URIs: []string{"test://b"}})
		synctest.Wait()
		l.requests()
		l.do(answer)
		if log := strings.Join(l.requests(), ", "); log != "resources/unsubscribe test://a" {
			t.Errorf("the server was asked %s", log)
		}
		l.told()
		l.write("test://b", "B")
		l.expect("updated test://b")
	})
}

// Many subscriptions are ended some at a time: over HTTP each takes a connection.
func TestSubscriptionsAreEndedSomeAtATime(t *testing.T) {
	var uris []string
	for i := range 500 {
		uris = append(uris, fmt.Sprint("test://", i))
	}
	withLab(t, Want{URIs: uris}, Options{}, func(f *fake) { f.overHTTP, f.legacy = true, "2025-11-25" }, func(l *lab) {
		l.expect("live 0 500 0")
		l.do(func() { l.mutesLocked("resources/unsubscribe", 1) })
		l.requests()
		l.set(Want{})
		l.expect("live 0 0 0")
		if n := len(l.requests()); n != maxSubscribing {
			t.Errorf("%d requests at a time", n)
		}
	})
}
