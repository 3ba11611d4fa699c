package client

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// hears has the client hear a keepalive on a listen.
func (f *fake) hears(id string) {
	f.do(func() { f.last().emitLocked(wire.Event{Request: jsonRaw(id), Status: 200}) })
}

// A listen that is never quiet has said in the end what it owed when it was replaced. What it names is told, since it may
// have gone on to owe it.
func TestAListenThatIsNeverQuietIsCancelledInTheEnd(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b", "test://c"}}, Options{}, someFiles("a", "b", "c"), func(l *lab) {
		l.expect("live 0 3 0")
		old := l.listens()[0]
		l.set(Want{URIs: []string{"test://a", "test://b"}})
		l.expect("live 0 2 0")
		for range 2 * maxOwing {
			time.Sleep(500 * time.Millisecond)
			l.do(func() { l.last().notifyLocked(old, "resources/updated", map[string]any{"uri": "test://a"}) })
			l.told()
		}
		time.Sleep(time.Millisecond)
		if ids := l.listens(); len(ids) != 1 || ids[0] == old {
			t.Errorf("open are %q, and %s was replaced", ids, old)
		}
	})
}

// A keepalive is no message: a listen that sends nothing else is quiet. But until one comes, something may be on its way.
func TestAReplacedStreamIsCancelledAfterAKeepalive(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}}, Options{}, func(f *fake) { f.overHTTP = true }, func(l *lab) {
		l.expect("live 0 2 0")
		old := l.listens()[0]
		l.hears(old)
		l.set(Want{URIs: []string{"test://a"}})
		l.expect("live 0 1 0")
		time.Sleep(20 * time.Second)
		if ids := l.listens(); len(ids) != 2 {
			t.Errorf("a stream was cut that may have had something on its way: open are %q", ids)
		}
		l.do(func() { l.last().notifyLocked(old, "resources/updated", map[string]any{"uri": "test://a"}) })
		l.expect("updated test://a")
		for range 3 {
			l.hears(old)
			time.Sleep(400 * time.Millisecond)
		}
		if ids := l.listens(); len(ids) != 1 || ids[0] == old {
			t.Errorf("open are %q, and %s was replaced", ids, old)
		}
	})
}

// Who changes the filter again and again has no more than some listens open, and is told of what those may have owed.
func TestAStormOfFiltersIsBounded(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://0"}}, Options{Grace: time.Minute}, someFiles("a"), func(l *lab) {
		most := 0
		for i := range 200 {
			l.set(Want{URIs: []string{"test://a", fmt.Sprint("test://", i+1)}})
			time.Sleep(time.Millisecond)
			most = max(most, len(l.listens()))
		}
		if most > maxRetired+4 {
			t.Errorf("%d listens were open", most)
		}
		told := strings.Join(l.told(), ", ")
		if !strings.Contains(told, "live 0 2 0") || !strings.Contains(told, "updated test://a") {
			t.Errorf("told %s", told)
		}
	})
}

// What lists of other kinds a cancelled listen may have owed is told, too.
func TestWhatAReplacedListenMayHaveOwedOfOtherListsIsTold(t *testing.T) {
	withLab(t, Want{Tools: true, Prompts: true, URIs: []string{"test://a"}}, Options{}, nil, func(l *lab) {
		l.expect("live 0 1 0")
		l.set(Want{Tools: true})
		l.expect("live 0 0 0")
		l.settled()
		l.expect("tools changed")
	})
}

// Contents that are kept are read again where nothing in the list would tell.
func TestWhatAReplacedListenMayHaveOwedIsReadThoughTheListIsFollowed(t *testing.T) {
	withLab(t, Want{List: true, Read: true, URIs: []string{"test://a", "test://b"}}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 2 2 0")
		l.do(func() { l.files["test://a"] = "A" }) // as long as before, and nobody says so
		l.set(Want{List: true, Read: true, URIs: []string{"test://a"}})
		l.expect("live 2 1 0")
		l.settled()
		l.expect("updated test://a A")
	})
}

// go-sdk 1.8.0 keeps one subscription for all listens of a pipe: a cancel of one of them ends them all, and is answered.
func TestAServerWhoseCancelEndsOthersIsNotTrusted(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a", "test://b"}}, Options{}, func(f *fake) {
		someFiles("a", "b", "c")(f)
		f.cancelled = func(c *fakeConn, id string) {
			clear(c.listens)
			c.answerLocked(jsonRaw(id), map[string]any{"resultType": "complete"})
		}
	}, func(l *lab) {
		l.expect("live 0 2 0")
		l.set(Want{URIs: []string{"test://a"}})
		l.expect("live 0 1 0")
		l.settled()
		l.expect("lost 1 499.999999ms", "live 0 1 0", "updated test://a")
		l.write("test://a", "A")
		l.expect("updated test://a")
		l.set(Want{URIs: []string{"test://c"}})
		l.settled()
		l.expect("live 0 1 0")
		l.write("test://c", "C")
		l.expect("updated test://c")
		for i := range maxUncancelled + 1 {
			l.set(Want{URIs: []string{fmt.Sprint("test://", i)}})
			time.Sleep(time.Second)
		}
		if told := strings.Join(l.told(), ", "); !strings.Contains(told, "lost") {
			t.Errorf("%d listens are open; told %s", len(l.listens()), told)
		}
	})
}

// An id that comes back as another type is understood: no other request has it.
func TestAnIDThatComesBackAsAnotherTypeIsUnderstood(t *testing.T) {
	for _, as := range []string{`"%s"`, "%s.0"} {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
			f.mute = func(c *fakeConn, r request) bool {
				r.ID = jsonRaw(fmt.Sprintf(as, r.ID))
				c.serveLocked(r)
				return true
			}
		}, func(l *lab) {
			l.expect("live 0 1 0")
			l.write("test://a", "A")
			l.expect("updated test://a")
		})
	}
}
