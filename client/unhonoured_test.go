package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

const (
	ticks = "com.example/ticks"
	tocks = "com.example/tocks"
)

// unhonoured takes Live off the queue and compares what it says with want, as what Status says.
func (l *lab) unhonoured(want ...string) {
	l.t.Helper()
	ctx, stop := context.WithTimeout(l.t.Context(), time.Minute)
	defer stop()
	e, err := l.c.Next(ctx)
	if err != nil || e.Kind != Live || !slices.Equal(e.Unhonoured, want) {
		l.t.Errorf("told %s, unhonoured %q, %v; want %q\nsaid %s", inWords(e), e.Unhonoured, err, want, l.said)
	}
	if s := l.c.Status(); !slices.Equal(s.Unhonoured, want) {
		l.t.Errorf("status has %q, want %q", s.Unhonoured, want)
	}
}

func (l *lab) says(n int, line string) {
	l.t.Helper()
	if got := strings.Count(l.said.String(), line); got != n {
		l.t.Errorf("%q was said %d times, want %d:\n%s", line, got, n, l.said)
	}
}

func TestWhatIsNotHonouredIsNamed(t *testing.T) {
	want := Want{List: true, Tools: true, Extensions: map[string]jsonRaw{ticks: jsonRaw("5"), tocks: jsonRaw("6")}}
	withLab(t, want, Options{}, func(f *fake) {
		f.honour = func(asked filter) filter {
			asked.Tools, asked.Extension = false, nil
			return asked
		}
	}, func(l *lab) {
		l.unhonoured(ticks, "toolsListChanged")
		l.says(1, `msg="the server does not honour extensions" names=[`+ticks+`]`)
		l.do(func() { l.honour = nil }) // as of a server that was updated
		want.Extensions[ticks] = jsonRaw("7")
		l.set(want)
		l.unhonoured()
		l.set(Want{List: true})
		l.unhonoured()
	})
}

// TestARefusedExtensionKeepsNothingFromBeingAnnounced: what a server refuses is found out, and the rest is not polled.
func TestARefusedExtensionKeepsNothingFromBeingAnnounced(t *testing.T) {
	uris := []string{"test://a", "test://b"}
	ext := func(value string) map[string]jsonRaw {
		return map[string]jsonRaw{ticks: jsonRaw(value), tocks: jsonRaw("6")}
	}
	for _, want := range []Want{
		{List: true, Tools: true, URIs: uris, Extensions: ext("5")},
		{URIs: uris, Extensions: ext("5")},
		{List: true, Extensions: ext("5")},
		{Extensions: ext("5")},
		{Extensions: map[string]jsonRaw{ticks: jsonRaw("5")}},
	} {
		asked := 0 // for what is refused
		withLab(t, want, Options{}, func(f *fake) {
			someFiles("a", "b")(f)
			f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
				if r.Params.Notifications.Extension != 5.0 {
					return nil
				}
				asked++
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown member")
			}
		}, func(l *lab) {
			l.unhonoured(ticks)
			if s := l.c.Status(); len(s.Polled) > 0 || len(s.PolledLists) > 0 {
				t.Errorf("polled are %q and %q", s.Polled, s.PolledLists)
			}
			l.says(1, "the server has refused a listen")
			l.says(1, `the server does not honour extensions" names=[`+ticks+`]`)
			covered := filter{}
			for _, id := range l.listens() {
				f := l.last().listens[id]
				covered.Resources, covered.Tools = covered.Resources || f.Resources, covered.Tools || f.Tools
				covered.URIs = append(covered.URIs, f.URIs...)
				if f.Extension2 != nil {
					covered.Extension2 = f.Extension2
				}
			}
			if covered.Resources != want.List || covered.Tools != want.Tools || len(covered.URIs) != len(want.URIs) || (covered.Extension2 != nil) != (len(want.Extensions) > 1) {
				t.Errorf("of %+v are announced: %+v", want, covered)
			}

			// It is not asked for again, but with another value.
			before := asked
			want.Prompts = true
			l.set(want)
			l.unhonoured(ticks)
			if asked != before {
				t.Errorf("it was asked for %d times more", asked-before)
			}
			want.Extensions = ext("7")
			l.set(want)
			l.unhonoured()
			l.settled()
			if n := len(l.listens()); n != 1 {
				t.Errorf("%d listens are open", n)
			}
		})
	}
}

// TestAnEarlierServerHonoursNoExtensions, and what it does not announce is told once, whichever of two reasons it has.
func TestAnEarlierServerHonoursNoExtensions(t *testing.T) {
	const lookedAt = "the server does not announce changes of some resources: they are looked at every so often"
	for _, refuses := range []bool{true, false} {
		withLab(t, Want{Listed: true, Extensions: map[string]jsonRaw{ticks: jsonRaw("5")}}, Options{}, func(f *fake) {
			someFiles("a", "b", "c")(f)
			f.legacy = "2025-06-18"
			f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
				if refuses && r.Method == "resources/subscribe" {
					return jsonrpc.Errorf(jsonrpc.MethodNotFound, "method not found")
				}
				return nil
			}
			f.mute = func(c *fakeConn, r request) bool {
				if refuses || r.Method != "initialize" {
					return false
				}
				c.answerLocked(r.ID, map[string]any{"protocolVersion": f.legacy, "capabilities": map[string]any{"resources": map[string]bool{"listChanged": true}}})
				return true
			}
		}, func(l *lab) {
			l.unhonoured(ticks)
			l.says(1, lookedAt)
			l.says(1, "the server does not honour extensions")
			l.write("test://d", "d")
			l.expect("added test://d")
			l.says(1, lookedAt)
		})
	}
}

// TestWhatIsNotAnnouncedIsNamed: the warning has one of the resources, since that may be spelt wrong.
func TestWhatIsNotAnnouncedIsNamed(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://c", "test://a", "test://b"}}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.honour = func(asked filter) filter {
			asked.URIs = []string{"test://a"}
			return asked
		}
	}, func(l *lab) {
		l.expect("live 0 3 2")
		l.says(1, `looked at every so often" count=2 uri=test://b`)
	})
}

// TestARefusedListKeepsNoOtherFromBeingAnnounced, however often the filter changes, and is not asked for again in vain.
func TestARefusedListKeepsNoOtherFromBeingAnnounced(t *testing.T) {
	asked := 0 // for what is refused
	withLab(t, Want{List: true, Tools: true, Prompts: true}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
			if !r.Params.Notifications.Tools {
				return nil
			}
			asked++
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown member")
		}
	}, func(l *lab) {
		l.unhonoured("toolsListChanged")
		before := asked
		for i := range 2 * maxRefusals {
			want := Want{List: true, Tools: true, Prompts: i%2 == 0, URIs: []string{fmt.Sprint("test://", i)}}
			l.set(want)
			l.unhonoured("toolsListChanged")
			l.settled()
			if s := l.c.Status(); len(s.Polled) > 0 || !slices.Equal(s.PolledLists, []string{"tools"}) {
				t.Fatalf("after %d filters polled are %q and %q", i+1, s.Polled, s.PolledLists)
			}
		}
		if asked != before {
			t.Errorf("it was asked for %d times more", asked-before)
		}
		l.told()
		l.set(Want{List: true})
		l.unhonoured()
		l.settled()
		l.do(func() { l.refuse = nil })
		l.set(Want{List: true, Tools: true}) // it was not wanted meanwhile
		l.unhonoured()
		l.settled()
		l.do(func() { l.last().notifyLocked(l.onlyLocked(), "tools/list_changed", nil) })
		if told := l.told(); !l.last().listens[l.onlyLocked()].Tools || !slices.Contains(told, "tools changed") {
			t.Errorf("it is not asked for; told %q", told)
		}
	})
}

// TestAListThatIsRefusedIsPolled, though it is not asked for any more.
func TestAListThatIsRefusedIsPolled(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
			if r.Params.Notifications.Resources {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown member")
			}
			return nil
		}
	}, func(l *lab) {
		l.unhonoured("resourcesListChanged")
		l.set(Want{List: true, Tools: true})
		l.unhonoured("resourcesListChanged")
		l.write("test://b", "b")
		time.Sleep(time.Minute)
		l.expect("added test://b")
		l.set(Want{Listed: true})
		l.unhonoured("resourcesListChanged")
		l.write("test://b", "B")
		l.expect("updated test://b")
	})
}

// TestRefusalsOfOneFilterAreNotHeldAgainstAnother: a server that takes few URIs in one listen is asked in parts each time.
func TestRefusalsOfOneFilterAreNotHeldAgainstAnother(t *testing.T) {
	var uris []string
	for i := range 50 {
		uris = append(uris, fmt.Sprint("test://", i))
	}
	withLab(t, Want{URIs: uris}, Options{}, func(f *fake) {
		f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
			if len(r.Params.Notifications.URIs) > 1 {
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "too many")
			}
			return nil
		}
	}, func(l *lab) {
		l.expect("live 0 50 0")
		for i := range 4 {
			l.set(Want{URIs: uris[i+1:]})
			if told := l.told(); len(told) == 0 || told[0] != fmt.Sprintf("live 0 %d 0", 49-i) {
				t.Errorf("told %q", told)
			}
			time.Sleep(time.Minute)
		}
	})
}
