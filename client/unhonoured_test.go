package client

import (
	"context"
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
