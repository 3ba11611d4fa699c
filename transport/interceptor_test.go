package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestInterceptorServesListensBesideTheLibrary(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		discover := modern("1", "server/discover", "")
		l.send(discover, listenTo("2", onlyA), listenTo(`"2"`, `"resourcesListChanged":true,"toolsListChanged":true`))
		l.sees(discover + "\n")
		got := raws(l.frames())
		for _, want := range []string{answered1("1"), acknowledged("2", onlyA), acknowledged(`"2"`, `"resourcesListChanged":true`)} {
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%s is not in %q", want, got)
			}
		}
		l.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		if got := raws(l.frames()); len(got) != 2 || !contains(got, updated("2", a)) || !contains(got, listChanged(`"2"`)) {
			t.Errorf("got %q", got)
		}
		l.send(cancel("2"))
		l.sees()
		l.hub.Publish(listen.Change{Keys: []string{a}})
		after(time.Hour)
		l.nothing()
		l.in.Close()
		<-l.ended
		l.raw(completed(`"2"`))
	})
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

func TestInterceptorEchoesIDsOfAllKinds(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		for _, id := range []string{"0", "-1", "1", `"1"`, `""`, "123456789012345678901234567890", `"\u00e9\n"`, `"ü"`} {
			l.send(listenTo(id, onlyA))
			l.raw(acknowledged(id, onlyA))
		}
		for _, id := range []string{"null", "1.5", "1e3", "true", "{}", "[]", `"` + strings.Repeat("x", 300) + `"`} {
			l.send(listenTo(id, onlyA))
			l.only().wantError(t, "", jsonrpc.InvalidRequest, "id must be")
		}
		l.send(strings.Replace(listenTo("7", onlyA), `"id":7,`, "", 1)) // a notification is not answered
		l.nothing()
		l.sees()
	})
}

func TestInterceptorRefusesIDsThatAreTaken(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		hang := modern("1", "hang", "")
		l.send(hang, listenTo("1", onlyA))
		l.sees(hang + "\n")
		l.only().wantError(t, "1", jsonrpc.InvalidRequest, "in flight")
		l.says(answered1("1"))
		l.frames()
		l.send(listenTo("1", onlyA), modern("1", "hang", ""), listenTo("1", ""))
		l.sees()
		got := l.frames()
		if len(got) != 3 {
			t.Fatalf("got %q", raws(got))
		}
		refused := 0
		for _, f := range got {
			if f.Error != nil {
				f.wantError(t, "1", jsonrpc.InvalidRequest, "in flight")
				refused++
			}
		}
		if refused != 2 {
			t.Errorf("got %q", raws(got))
		}
		// The id is free again after the cancellation of either.
		l.send(cancel("1"), hang, cancel("1"), listenTo(`"1"`, ""))
		l.sees(hang+"\n", cancel("1")+"\n")
		l.raw(acknowledged(`"1"`, ""), completed(`"1"`))
		l.send(listenTo("1", onlyA))
		l.raw(acknowledged("1", onlyA))
		l.says(answered1("1")) // to the request that was cancelled: it would end the listen
		l.nothing()
	})
}

func TestInterceptorLeavesOtherRevisionsToTheLibrary(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		other := strings.Replace(listenTo("1", onlyA), mcp.Modern, "2027-01-01", 1)
		l.send(other)
		l.sees(other + "\n")
		l.raw(answered1("1"))

		bare := legacy("2", "subscriptions/listen", `"notifications":{}`)
		l.send(bare)
		l.sees()
		l.only().wantError(t, "2", jsonrpc.InvalidParams, "_meta is missing")

		hello := initialize("3", mcp.Legacy20251125)
		l.send(hello, bare, listenTo("4", onlyA))
		l.sees(hello+"\n", bare+"\n")
		if got := raws(l.frames()); len(got) != 3 || !contains(got, answered1("2")) || !contains(got, acknowledged("4", onlyA)) {
			t.Errorf("got %q", got)
		}
	})
}

func TestInterceptorRefusesMalformedListens(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		for name, line := range map[string]string{
			"notifications": modern("1", "subscriptions/listen", ""),
			"Capabilities":  strings.Replace(listenTo("1", ""), `"io.modelcontextprotocol/clientCapabilities":{}`, `"x":0`, 1),
			"Version":       strings.Replace(listenTo("1", ""), `"2026-07-28"`, `1`, 1),
			"params":        `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":[]}`,
		} {
			l.send(line)
			l.only().wantError(t, "1", jsonrpc.InvalidParams, name)
		}
		l.sees()
	})
}

var untagged = []string{
	`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{}}}`,
	`{"jsonrpc":"2.0","method":"notifications\/resources\/updated","params":{"uri":"test://top/a.md"}}`,
}

func TestUntaggedChangesReachLegacyClientsOnly(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		others := []string{
			updated("9", a), // tagged
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
			`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
			`not JSON at all`,
		}
		all := strings.Join(untagged, "\n") + "\n" + strings.Join(others, "\n") + "\n"
		check := func(when string, want string) {
			t.Helper()
			before := len(l.out.written())
			_ = l.writes(all)
			if got := string(l.out.written()[before:]); got != want {
				t.Errorf("%s: %q\nwant %q", when, got, want)
			}
		}
		rest := strings.Join(others, "\n") + "\n"
		check("at first", rest)
		l.send(modern("1", "server/discover", ""), listenTo("2", onlyA))
		check("to a modern client", rest)
		l.send(initialize("3", mcp.Legacy20251125))
		check("to a legacy client", all)
		l.read = len(l.out.written())
	})
}

func TestRefusedInitializeLeavesAClientModern(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(strings.Replace(initialize("1", mcp.Legacy20251125), `"id":1`, `"id":"x"`, 1))
		l.says(untagged[0])
		if got := raws(l.frames()); len(got) != 2 || got[1] != untagged[0] {
			t.Errorf("got %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		i, _ := interceptorOf(top{})
		out := &sink{}
		x := i.Stdio(strings.NewReader(""), out)
		defer x.Close()
		if x.Take([]byte(initialize("1", mcp.Legacy20251125))) {
			t.Error("taken")
		}
		refusal := `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}` + "\n"
		if _, err := io.WriteString(x.Writer(), refusal+untagged[0]+"\n"); err != nil {
			t.Error(err)
		}
		if got := string(out.written()); got != refusal {
			t.Errorf("got %q", got)
		}
	})
}

// A session that is open stays so, whatever becomes of another initialize: it is refused, cancelled, or its id used twice.
func TestSessionsStayLegacy(t *testing.T) {
	said := func(x *InterceptedPipe, out *sink, line string) bool {
		before := len(out.written())
		_, _ = io.WriteString(x.Writer(), line+"\n")
		return string(out.written()[before:]) == line+"\n"
	}
	hello := func(id string) string { return initialize(id, mcp.Legacy20251125) }
	failed := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"no"}}`
	}
	for _, c := range []struct {
		name   string
		steps  []string // of the client, and after ">" of the library
		legacy bool
	}{
		{"refused", []string{hello("1"), ">" + failed("1")}, false},
		{"refused in a batch", []string{"[" + hello("1") + "]", ">[" + failed("1") + "]"}, false},
		{"opened and another refused", []string{hello("1"), ">" + answered1("1"), hello("2"), ">" + failed("2")}, true},
		{"one of two refused", []string{hello("1"), hello("2"), ">" + failed("1")}, true},
		{"both refused", []string{hello("1"), hello("2"), ">" + failed("1"), ">" + failed("2")}, false},
		{"cancelled and refused", []string{hello("1"), cancel("1"), ">" + failed("1")}, false},
		{"cancelled and opened", []string{hello("1"), cancel("1"), ">" + answered1("1")}, true},
		{"twice with one id, refused", []string{hello("1"), hello("1"), ">" + failed("1")}, false},
		{"something else with its id, refused", []string{hello("1"), legacy("1", "x", ""), ">" + failed("1")}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			i, _ := interceptorOf(top{})
			out := &sink{}
			x := i.Stdio(strings.NewReader(""), out)
			defer x.Close()
			for _, step := range c.steps {
				if line, theirs := strings.CutPrefix(step, ">"); theirs {
					if !said(x, out, line) {
						t.Errorf("%s: %s did not pass", c.name, line)
					}
				} else if x.Take([]byte(step)) {
					t.Errorf("%s: %s is taken", c.name, step)
				}
			}
			if got := said(x, out, untagged[0]); got != c.legacy {
				t.Errorf("%s: untagged changes pass: %v", c.name, got)
			}
		})
	}
}

// What passes is not looked at but for what it is: line ends, blank lines, spaces, what is no JSON and no UTF-8.
func TestWhatIsNotTakenPassesByteForByte(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		intercepted(t, func(t *testing.T, l *library) {
			lines := []string{
				"", "  ", "\t", "{", "\xff\xfe", `{"jsonrpc":"2.0" , "id" : 1.0, "method":"x"}`, "[]", "[1,2]", `{"id":1,"id":2}`,
				`  {"jsonrpc":"2.0","method":"notifications/initialized"}  `, cancel("77"), cancel(`{}`),
				`{"jsonrpc":"2.0","id":5,"result":{}}`, "null", strings.Repeat("x", 200_000),
			}
			var in string
			var want []string
			for _, line := range lines {
				in += line + end
				want = append(want, line+end)
				in += listenTo(`"gone"`, onlyA) + end + cancel(`"gone"`) + end
			}
			if _, err := io.WriteString(l.in, in); err != nil {
				t.Error(err)
			}
			l.sees(want...)
			before := len(l.out.written())
			var said string
			for _, line := range lines {
				said += line + end
			}
			_ = l.writes(said)
			if got := string(l.out.written()[before:]); got != said {
				t.Errorf("%q became %q", said, got)
			}
			l.read = len(l.out.written())
		})
	}
}

func TestLastLineNeedsNoEnd(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		if _, err := io.WriteString(l.in, `{"jsonrpc":"2.0","method":"last"}`); err != nil {
			t.Error(err)
		}
		l.in.Close()
		<-l.ended
		l.sees(`{"jsonrpc":"2.0","method":"last"}`)
		_ = l.writes("torn") // is not known to be a line before the end
		l.nothing()
		if err := l.pipe.Close(); err != nil || string(l.out.written()) != "torn" {
			t.Errorf("%q, %v", l.out.written(), err)
		}
		l.read = len(l.out.written())
	})
	intercepted(t, func(t *testing.T, l *library) {
		if _, err := io.WriteString(l.in, listenTo("1", onlyA)); err != nil {
			t.Error(err)
		}
		l.in.Close()
		<-l.ended
		l.sees()
		l.raw(acknowledged("1", onlyA), completed("1"))
	})
}

// A frame comes between the lines of the library, never into one, however the library writes them.
func TestLinesAreNotTorn(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA))
		l.frames()
		line := answered1("7") + "\n"
		for at := range line {
			_ = l.writes(line[at : at+1])
			l.hub.Publish(listen.Change{Keys: []string{a}})
			after(time.Second)
		}
		got := raws(l.frames())
		if len(got) != len(line)+1 || !contains(got, strings.TrimSpace(line)) {
			t.Errorf("%d frames", len(got))
		}
	})
}

// A line above the limit is not held, and passes whole all the same.
func TestVeryLongLinesPassInPieces(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":1,"method":"x","params":{"x":"` + strings.Repeat("y", 12<<20) + `"}}` + "\n"
	intercepted(t, func(t *testing.T, l *library) {
		go func() { _, _ = io.WriteString(l.in, long+listenTo("1", onlyA)+"\n"+listenTo("2", onlyA)+"\n") }()
		l.sees(long)
		if got := raws(l.frames()); len(got) != 3 || !contains(got, answered1("1")) || !contains(got, acknowledged("2", onlyA)) {
			t.Errorf("got %q", got) // the id of a long request is known to be taken
		}
	})
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("2", onlyA))
		l.frames()
		result := `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("y", 12<<20) + `"}}` + "\n"
		left := result
		for len(left) > 1<<20 {
			_ = l.writes(left[:1<<20])
			left = left[1<<20:]
			l.hub.Publish(listen.Change{Keys: []string{a}})
			after(time.Second)
		}
		_ = l.writes(left)
		got := l.frames() // those before more than the limit had come, the line, and one for all that came meanwhile
		if n := len(got); n < 3 || n > 8 || got[n-2].raw+"\n" != result || got[n-1].raw != updated("2", a) {
			t.Errorf("%d frames", n)
		}
	})
}

// Neither does a long answer end a listen that has the id of a cancelled request by now.
func TestVeryLongLateAnswersAreDropped(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(modern("1", "hang", ""), cancel("1"), listenTo("1", onlyA))
		l.raw(acknowledged("1", onlyA))
		l.sees(modern("1", "hang", "")+"\n", cancel("1")+"\n")
		for range 6 {
			_ = l.writes(`{"jsonrpc":"2.0","id":1,"result":{"x":"`)
			for range 5 {
				_ = l.writes(strings.Repeat("y", 1<<20))
			}
			_ = l.writes(`"}}` + "\n")
		}
		l.nothing()
		l.hub.Publish(listen.Change{Keys: []string{a}})
		l.raw(updated("1", a))
		l.says(answered1("2"))
		l.raw(answered1("2"))
	})
}

func TestVeryLongListensAreRefused(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		long := `"resourceSubscriptions":["` + strings.Repeat("x", 5<<20) + `"]`
		l.send(listenTo("1", long), listenTo("2", onlyA))
		l.sees()
		got := l.frames()
		if len(got) != 2 || got[1].raw != acknowledged("2", onlyA) {
			t.Fatalf("got %d frames", len(got))
		}
		got[0].wantError(t, "1", jsonrpc.InvalidRequest, "longer than 4194304 bytes")
	})
}

// The limit is that of a line without its end, in whatever pieces it comes.
func TestLongestListen(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, size := range []int{1, 7, 1 << 16} {
			for over := range 2 {
				synctest.Test(t, func(t *testing.T) {
					longest := len(listenTo("1", onlyA))
					i := NewInterceptor(&listen.Service{Hub: listen.NewHub(nil), Source: top{}}, &InterceptorOptions{MaxLine: longest - over})
					out := &sink{}
					r, w := io.Pipe()
					go func() {
						for piece := range slices.Chunk([]byte(listenTo("1", onlyA)+end+"{}"+end), size) {
							_, _ = w.Write(piece)
						}
						w.Close()
					}()
					x := i.Stdio(r, out)
					defer x.Close()
					if got, err := io.ReadAll(x.Reader()); string(got) != "{}"+end || err != nil {
						t.Errorf("%q, %v passed", got, err)
					}
					got := raws(parseFrames(t, out.written()))
					if refused := len(got) == 1 && strings.Contains(got[0], "longer than"); refused != (over > 0) {
						t.Errorf("pieces of %d, %d bytes above the limit, %q: %q", size, over, end, got)
					}
				})
			}
		}
	}
}

// A request above the limit has an id like any other.
func TestVeryLongRequestsNeedAnIDOfTheirOwn(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA))
		l.frames()
		l.send(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"x":"` + strings.Repeat("y", 5<<20) + `"}}`)
		l.sees()
		l.only().wantError(t, "1", jsonrpc.InvalidRequest, "in flight")
	})
}

func TestCancelBeforeTheAcknowledgementSilencesIt(t *testing.T) {
	synctestSlow(t, func(t *testing.T, l *library, open chan struct{}) {
		l.send(listenTo("1", onlyA), cancel("1"))
		close(open)
		l.nothing()
		if n := l.hub.Len(); n != 0 {
			t.Errorf("%d streams", n)
		}
		l.send(listenTo("1", onlyA)) // the id is free
		l.raw(acknowledged("1", onlyA))
		l.sees()
	})
}

func synctestSlow(t *testing.T, f func(t *testing.T, l *library, open chan struct{})) {
	t.Helper()
	slow := &lateGate{}
	interceptedWith(t, slow, func() chan struct{} { slow.open = make(chan struct{}); return nil }, func(t *testing.T, l *library) {
		f(t, l, slow.open)
	})
}

// lateGate honours what top does, once open is closed.
type lateGate struct{ open chan struct{} }

func (s *lateGate) Honour(ctx context.Context, asked listen.Filter) (listen.Filter, []listen.Sub, error) {
	return top{s.open}.Honour(ctx, asked)
}

// A listen that is slow to open keeps nobody waiting, and the end no longer than a second.
func TestSlowOpeningDelaysNothing(t *testing.T) {
	synctestSlow(t, func(t *testing.T, l *library, open chan struct{}) {
		l.send(listenTo("1", onlyA), modern("2", "x", ""))
		l.raw(answered1("2"))
		start := time.Now()
		l.in.Close()
		<-l.ended
		if d := time.Since(start); d > time.Second || d < completeGrace {
			t.Errorf("the end took %v", d)
		}
	})
}

// What was cancelled while the output stalled is not said, whoever's write it was that stalled.
func TestCancelWhileTheLibraryWritesIsSilent(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA), listenTo("2", onlyA))
		l.frames()
		stall := make(chan struct{})
		l.out.setStall(stall)
		go l.says(answered1("7"))
		synctest.Wait()
		l.hub.Publish(listen.Change{Keys: []string{a}})
		synctest.Wait()
		l.send(cancel("1"))
		l.out.setStall(nil)
		close(stall)
		l.raw(answered1("7"), updated("2", a))
	})
}

// An output that stalls keeps nothing from being read: neither by the interceptor nor by the library.
func TestStalledOutputBlocksNoReading(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA), listenTo("2", onlyA))
		l.frames()
		stall := make(chan struct{})
		l.out.setStall(stall)
		for range 100 {
			l.hub.Publish(listen.Change{Keys: []string{a}, List: true})
		}
		synctest.Wait()
		var hang []string
		for i := range 100 {
			line := modern(fmt.Sprint(1000+i), "hang", "")
			l.send(line, listenTo(fmt.Sprint(2000+i), onlyA))
			hang = append(hang, line+"\n")
		}
		l.sees(hang...)
		l.send(cancel("1"))
		if n := l.hub.Len(); n != 101 {
			t.Errorf("%d streams", n)
		}
		start := time.Now()
		l.in.Close()
		<-l.ended
		if d := time.Since(start); d > time.Second {
			t.Errorf("the end took %v", d)
		}
		l.out.setStall(nil)
		close(stall)
		synctest.Wait()
		written := string(l.out.written())
		if strings.Contains(written, completed("2")) {
			t.Error("written after the end")
		}
		l.read = len(written)
	})
}

// What is refused is owed an answer, so that a client that sends more and reads none is not read from for ever.
func TestRefusalsAreBounded(t *testing.T) {
	for _, end := range []bool{false, true} {
		intercepted(t, func(t *testing.T, l *library) {
			l.pipe.p.f.maxWeight = 64 << 10
			stall := make(chan struct{})
			l.out.setStall(stall)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for i := range 1000 {
					_, _ = io.WriteString(l.in, modern(fmt.Sprint(i), methodListen, "")+"\n")
				}
			}()
			synctest.Wait()
			if owed := l.pipe.p.f.owed; owed < 15 || owed > 30 {
				t.Errorf("%d answers are owed", owed)
			}
			if end {
				if err := l.pipe.Close(); err != nil {
					t.Error(err)
				}
				l.in.Close()
			}
			l.out.setStall(nil)
			close(stall)
			<-sent
			if got := l.frames(); !end && len(got) != 1000 {
				t.Errorf("%d answers", len(got))
			}
		})
	}
}

// A library that reads nothing keeps no listen waiting, until there is much that it has not read.
func TestStalledLibraryDelaysNoListen(t *testing.T) {
	var stall chan struct{}
	interceptedWith(t, top{}, func() chan struct{} { stall = make(chan struct{}); return stall }, func(t *testing.T, l *library) {
		go func() { // as the first read starts the reading
			b := make([]byte, 0)
			_, _ = l.pipe.Reader().Read(b)
		}()
		call := modern("1", "x", `,"x":"`+strings.Repeat("y", 1<<20)+`"`)
		for range 7 {
			l.send(call)
		}
		l.send(listenTo("2", onlyA))
		l.raw(acknowledged("2", onlyA))
		l.hub.Publish(listen.Change{Keys: []string{a}})
		l.raw(updated("2", a))
		l.send(cancel("2"))
		if n := l.hub.Len(); n != 0 {
			t.Errorf("%d streams", n)
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.WriteString(l.in, strings.Repeat(call+"\n", 7))
		}()
		synctest.Wait()
		select {
		case <-sent:
			t.Error("all was read ahead")
		default:
		}
		close(stall)
		<-sent
		synctest.Wait()
		if len(l.got) != 14 {
			t.Errorf("the library has read %d lines", len(l.got))
		}
		l.frames()
	})
}

func TestEndOfInputComesAfterTheCompletions(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA), listenTo("2", onlyA))
		l.frames()
		l.hub.Publish(listen.Change{Keys: []string{a}})
		l.hub.Publish(listen.Change{Keys: []string{a}}) // said once, at once
		l.in.Close()
		<-l.ended
		got := raws(l.frames())
		if len(got) != 4 || !contains(got, updated("1", a)) || !contains(got, completed("1")) || !contains(got, completed("2")) {
			t.Errorf("got %q", got)
		}
		l.says(answered1(`"late"`)) // the library may still answer
		if got := raws(l.frames()); len(got) != 1 {
			t.Errorf("got %q", got)
		}
		if x := l.pipe; !x.Take([]byte(listenTo("3", onlyA))) {
			t.Error("a listen after the end is not taken")
		}
		l.nothing()
	})
}

func TestLibraryThatClosesEarlyEndsTheListens(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA))
		l.frames()
		if err := l.pipe.Reader().Close(); err != nil {
			t.Error(err)
		}
		<-l.ended
		if !errors.Is(l.err, io.ErrClosedPipe) {
			t.Errorf("a read ends with %v", l.err)
		}
		l.raw(completed("1"))
		if err := l.writes("x\n"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a write returns %v", err)
		}
		if err := l.pipe.Writer().Close(); err != nil {
			t.Error(err)
		}
	})
}

// Close ends in a second whatever is under way: a write that the output does not take, a line that has no end.
func TestCloseIsBounded(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA))
		l.frames()
		_ = l.writes(strings.Repeat("x", 5<<20))
		l.read = len(l.out.written())
		before := l.read
		l.hub.Publish(listen.Change{Keys: []string{a}})
		start := time.Now()
		if err := l.pipe.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("took %v", d)
		}
		if n := len(l.out.written()); n != before || n < 5<<20 {
			t.Errorf("%d bytes after %d: the line was torn", n, before)
		}
	})
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA))
		l.frames()
		stall := make(chan struct{})
		l.out.setStall(stall)
		go l.says(answered1("7"))
		synctest.Wait()
		start := time.Now()
		if err := l.pipe.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("took %v", d)
		}
		if err := l.pipe.Close(); err != nil {
			t.Error(err)
		}
		close(stall)
		l.raw(answered1("7"))
		if err := l.writes("x\n"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a write returns %v", err)
		}
	})
	intercepted(t, func(t *testing.T, l *library) { // the write of a frame stalls, and one of the library waits for it
		l.send(listenTo("1", onlyA))
		l.frames()
		stall := make(chan struct{})
		l.out.setStall(stall)
		l.hub.Publish(listen.Change{Keys: []string{a}})
		synctest.Wait()
		failed := make(chan error, 1)
		go func() { failed <- l.writes(answered1("7") + "\n") }()
		start := time.Now()
		if err := l.pipe.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("took %v", d)
		}
		close(stall)
		if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a write returns %v", err)
		}
		l.raw(updated("1", a))
	})
	for _, busy := range []bool{false, true} {
		intercepted(t, func(t *testing.T, l *library) { // half a line is left, which the output does not take either
			l.send(listenTo("1", onlyA))
			l.frames()
			_ = l.writes("half")
			stall := make(chan struct{})
			l.out.setStall(stall)
			if busy {
				l.hub.Publish(listen.Change{Keys: []string{a}})
				synctest.Wait()
			}
			start := time.Now()
			closed := make(chan error, 1)
			go func() { closed <- l.pipe.Close() }()
			select {
			case <-closed:
			case <-time.After(time.Minute):
				t.Errorf("busy %v: Close waits for the output", busy)
				close(stall)
				return
			}
			if d := time.Since(start); d > time.Second {
				t.Errorf("took %v", d)
			}
			if err := l.writes("x\n"); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("a write returns %v", err)
			}
			close(stall)
			if busy {
				l.raw(updated("1", a))
			} else {
				synctest.Wait()
				l.read = len(l.out.written())
			}
		})
	}
}

// When the output fails the listens are cancelled, and reading goes on.
func TestFailedOutputCancelsTheListens(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("1", onlyA))
		l.frames()
		l.out.mu.Lock()
		l.out.err = io.ErrClosedPipe
		l.out.mu.Unlock()
		l.hub.Publish(listen.Change{Keys: []string{a}})
		synctest.Wait()
		if n := l.hub.Len(); n != 0 {
			t.Errorf("%d streams", n)
		}
		call := modern("2", "hang", "")
		l.send(call, listenTo("3", onlyA))
		l.sees(call + "\n")
		if err := l.writes("x\n"); err == nil {
			t.Error("the library is not told")
		}
		start := time.Now()
		l.in.Close()
		<-l.ended
		if d := time.Since(start); d > 0 {
			t.Errorf("the end took %v", d)
		}
	})
}

// A client that does not read bounds what is kept for it.
func TestStalledReaderBoundsMemory(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		var uris, keys []string
		for i := range 1000 {
			uris = append(uris, fmt.Sprintf("%q", fmt.Sprintf("test://top/%d", i)))
			keys = append(keys, fmt.Sprintf("test://top/%d", i))
		}
		l.send(listenTo("1", `"resourceSubscriptions":[`+strings.Join(uris, ",")+`]`))
		l.frames()
		stall := make(chan struct{})
		l.out.setStall(stall)
		l.hub.Publish(listen.Change{Keys: keys})
		synctest.Wait()
		before := liveBytes()
		for range 1000 {
			l.hub.Publish(listen.Change{Keys: keys})
		}
		synctest.Wait()
		if grown := liveBytes() - before; grown > 1<<20 {
			t.Errorf("%d bytes more", grown)
		}
		l.out.setStall(nil)
		close(stall)
		after(time.Minute)
		l.frames()
	})
}

func TestBatchesPassAndTheirIDsAreKnown(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		l.send(listenTo("9", onlyA))
		l.frames()
		hello := initialize("0", mcp.Legacy20250326)
		batch := "[" + legacy("1", "hang", "") + "," + legacy("2", "hang", "") + "," + cancel("9") + "]"
		l.send(hello, batch, listenTo("1", onlyA))
		l.sees(hello+"\n", batch+"\n")
		got := l.frames()
		if len(got) != 2 || l.hub.Len() != 0 {
			t.Fatalf("got %q, %d streams", raws(got), l.hub.Len())
		}
		for _, f := range got {
			if string(f.ID) == "1" {
				f.wantError(t, "1", jsonrpc.InvalidRequest, "in flight")
			}
		}
		answer := "[" + answered1("1") + "," + answered1("2") + "]"
		l.says(answer)
		l.raw(answer)
		l.send(listenTo("1", onlyA))
		l.raw(acknowledged("1", onlyA))
	})
}

// No revision that has listens has batches, so the library must not get to serve one that comes in a batch.
func TestBatchesThatHoldAListenAreRefused(t *testing.T) {
	intercepted(t, func(t *testing.T, l *library) {
		batch := "[" + modern("1", "hang", "") + "," + listenTo(`"2"`, onlyA) + "," + cancel("3") + ",5]"
		l.send(listenTo("3", onlyA))
		l.raw(acknowledged("3", onlyA))
		l.send(batch, "["+strings.Replace(listenTo("9", onlyA), `"id":9,`, "", 1)+"]", "["+legacy("4", methodListen, "")+"]")
		l.sees()
		got := l.frames()
		if len(got) != 2 {
			t.Fatalf("got %q", raws(got))
		}
		for i, ids := range []string{`1 "2"`, `4`} {
			var answers []frame
			if err := json.Unmarshal([]byte(got[i].raw), &answers); err != nil {
				t.Fatal(err)
			}
			for j, id := range strings.Fields(ids) {
				answers[j].wantError(t, id, jsonrpc.InvalidRequest, "not to be part of a batch")
			}
		}
		l.hub.Publish(listen.Change{Keys: []string{a}}) // nothing of a batch that is refused was heeded
		l.raw(updated("3", a))
		l.send(modern("1", "x", ""))
		l.raw(answered1("1"))
		later := "[" + strings.Replace(listenTo("7", onlyA), mcp.Modern, "2027-01-01", 1) + "]"
		l.send(later)
		l.sees(modern("1", "x", "")+"\n", later+"\n")
	})
}

// Params that are no object are for the library to refuse. What else the message is counts all the same.
func TestOddParamsHideNothing(t *testing.T) {
	null := func(message string) string {
		return strings.Replace(message, `"jsonrpc":"2.0",`, `"jsonrpc":"2.0","params":null,`, 1)
	}
	intercepted(t, func(t *testing.T, l *library) {
		l.says(null(untagged[0]))
		l.nothing()
		hang := null(`{"jsonrpc":"2.0","id":1,"method":"hang"}`)
		l.send(hang, listenTo("1", onlyA))
		l.sees(hang + "\n")
		l.only().wantError(t, "1", jsonrpc.InvalidRequest, "in flight")
		l.send(listenTo("2", onlyA))
		l.raw(acknowledged("2", onlyA))
		l.send(null(`{"jsonrpc":"2.0","id":2,"method":"x"}`))
		l.sees()
		l.only().wantError(t, "2", jsonrpc.InvalidRequest, "in flight")
		l.send(null(`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen"}`))
		l.only().wantError(t, "3", jsonrpc.InvalidParams, "params must be an object")
		l.send(null(`{"jsonrpc":"2.0","id":"x","method":"initialize"}`))
		l.says(null(untagged[0]))
		if got := raws(l.frames()); !contains(got, null(untagged[0])) {
			t.Errorf("got %q", got)
		}
	})
}

// Take serves what has a framing of its own.
func TestTakeSaysWhatItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, hub := interceptorOf(top{})
		out := &sink{}
		x := i.Stdio(strings.NewReader(""), out)
		for _, step := range []struct {
			message string
			taken   bool
		}{
			{modern("1", "server/discover", ""), false},
			{cancel("2"), false},
			{listenTo("2", onlyA), true},
			{cancel("2"), true},
			{cancel("2"), false},
			{listenTo("3", onlyA), true},
			{modern("3", "x", ""), true}, // the id is taken
			{"{", false},
			{"", false},
		} {
			message := []byte(step.message)
			if got := x.Take(message); got != step.taken {
				t.Errorf("%s: %v", step.message, got)
			}
			for i := range message {
				message[i] = 'x' // is the caller's again
			}
			synctest.Wait()
		}
		if err := x.Close(); err != nil || hub.Len() != 0 {
			t.Errorf("%v, %d streams", err, hub.Len())
		}
		got := raws(parseFrames(t, out.written()))
		if len(got) != 4 || got[0] != acknowledged("2", onlyA) || got[1] != acknowledged("3", onlyA) || got[3] != completed("3") {
			t.Errorf("got %q", got)
		}
	})
}

// An error of the input that is not its end comes through.
func TestReadErrorsComeThrough(t *testing.T) {
	odd := errors.New("odd")
	i, _ := interceptorOf(top{})
	x := i.Stdio(io.MultiReader(strings.NewReader("a\nb"), errorReader{odd}), io.Discard)
	got, err := io.ReadAll(x.Reader())
	if string(got) != "a\nb" || err != odd {
		t.Errorf("%q, %v", got, err)
	}
	x.Close()
	if n, err := x.Reader().Read(make([]byte, 1)); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("%d, %v", n, err)
	}
}

// What nobody has read by the Close of the pipe is left to others.
func TestClosedPipeReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _ := interceptorOf(top{})
		in := strings.NewReader("{}\n")
		x := i.Stdio(in, io.Discard)
		x.Close()
		_, err := x.Reader().Read(make([]byte, 1))
		synctest.Wait()
		if err != io.ErrClosedPipe || in.Len() != 3 {
			t.Errorf("%v, %d bytes are left", err, in.Len())
		}
	})
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// What one client has in flight with the library is bounded, too: beyond that ids are no longer compared.
func TestForeignIDsAreBounded(t *testing.T) {
	var l foreign
	for i := range 2 * maxForeign {
		id, _ := jsonrpc.ParseID(fmt.Append(nil, i))
		l.asked(&jsonrpc.Message{ID: id, Method: "x"})
	}
	if len(l.calls) != maxForeign {
		t.Errorf("%d ids", len(l.calls))
	}
}

// FuzzSieve: in whatever pieces the bytes come, what is not taken passes in order and unchanged, and nothing is passed in
// the middle of a line without saying so.
func FuzzSieve(f *testing.F) {
	f.Add([]byte("a\nTb\nc\r\n\n\nT\nlast"), uint64(3), 8)
	f.Add([]byte("Tlonglonglonglong\nlonglonglonglong\nTx"), uint64(0x1234567), 4)
	f.Fuzz(func(t *testing.T, data []byte, cuts uint64, limit int) {
		limit = min(max(limit, 1), 1<<16)
		var got []byte
		open := false
		taken := func(line []byte) bool { return len(line) > 0 && line[0] == 'T' }
		s := sieve{
			limit: limit,
			judge: func(line []byte) bool {
				if i := bytes.IndexByte(line, '\n'); i >= 0 && i != len(line)-1 {
					t.Errorf("%q is not one line", line)
				}
				return !taken(line)
			},
			begun: func(beginning []byte) bool { return !taken(beginning) },
			pass: func(p []byte, more bool) error {
				if !open && len(p) == 0 {
					t.Error("nothing is passed")
				}
				open = more
				got = append(got, p...)
				return nil
			},
		}
		rest := data
		for len(rest) > 0 {
			n := int(cuts%13) + 1
			cuts = cuts>>3 | cuts<<61
			n = min(n, len(rest))
			if m, err := s.write(rest[:n]); m != n || err != nil {
				t.Fatalf("%d of %d, %v", m, n, err)
			}
			if midLine := len(got) > 0 && got[len(got)-1] != '\n'; midLine != open {
				t.Errorf("open is %v after %q", open, got)
			}
			if len(s.held) > limit {
				t.Errorf("%d bytes are held", len(s.held))
			}
			rest = rest[n:]
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for line := range bytes.Lines(data) {
			if !taken(line) {
				want = append(want, line...)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%q became %q, want %q", data, got, want)
		}
	})
}

// FuzzInterceptedPipe: what passes is what the client sent, byte for byte and in whatever pieces, but for whole lines that
// are listens or batches with one. The end has come, so that none is opened and all stays in one goroutine.
func FuzzInterceptedPipe(f *testing.F) {
	f.Add([]byte(listenTo("1", onlyA)+"\n"+modern("1", "x", "")+"\r\n"+cancel("1")), 100)
	f.Add([]byte("{}\n[]\n\n"+listenTo("1", "")+" \n"+initialize("1", mcp.Legacy20251125)+"\n"+legacy("2", methodListen, "")), 7)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions\/listen"}`+"\nx"), 1)
	f.Add([]byte(`{"id":null,"method":"subscriptions/listen"}`+"\n"+`[`+listenTo("1", "")+`]`), 1000)
	i, _ := interceptorOf(top{})
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		x := i.Stdio(nil, io.Discard)
		x.finish()
		x.spoken.Store(true)
		var got []byte
		x.up.pass = func(p []byte, _ bool) error {
			got = append(got, p...)
			return nil
		}
		for piece := range slices.Chunk(data, min(max(size, 1), 1<<10)) {
			if n, err := x.up.write(piece); n != len(piece) || err != nil {
				t.Fatalf("%d of %d, %v", n, len(piece), err)
			}
		}
		if err := x.up.end(); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if rest, ok := bytes.CutPrefix(got, line); ok {
				got = rest
				continue
			}
			var m map[string]json.RawMessage
			var method string
			if json.Unmarshal(line, &m) == nil {
				_ = json.Unmarshal(m["method"], &method)
			}
			var batch []struct{ Method string }
			_ = json.Unmarshal(line, &batch) // as far as it is one
			if slices.ContainsFunc(batch, func(m struct{ Method string }) bool { return m.Method == methodListen }) {
				continue
			}
			if method != methodListen && utf8.Valid(line) {
				t.Fatalf("%q did not pass, what is left is %q", line, got)
			}
		}
		if len(got) > 0 {
			t.Errorf("%q was not sent", got)
		}
	})
}

// What a handler says goes the way of everything else: after its acknowledgement, with its id, and not after a cancellation.
func TestHandlersServeInterceptedListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, told := listen.NewHub(nil), make(chan error, 3)
		handler := listen.HandlerFunc(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			if r.Filter.Extensions["com.example/ticks"] == nil {
				return listen.InvalidParams("ask for ticks")
			}
			s, err := p.Acknowledge(r.Filter)
			if err != nil {
				return err
			}
			_ = s.Notify(ctx, "notifications/com.example/tick", map[string]int{"n": 1})
			<-ctx.Done()
			told <- context.Cause(ctx)
			return nil
		})
		i := NewInterceptor(&listen.Service{Hub: hub, Handler: handler}, nil)
		out := &sink{}
		x := i.Stdio(strings.NewReader(""), out)
		take := func(line string) []string {
			before := len(out.written())
			if !x.Take([]byte(line)) {
				t.Errorf("%s is not taken", line)
			}
			synctest.Wait()
			return raws(parseFrames(t, out.written()[before:]))
		}
		const ticks = `"com.example/ticks":{"every":1}`
		tick := func(id string) string {
			return `{"jsonrpc":"2.0","method":"notifications/com.example/tick","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"n":1}}`
		}
		for _, id := range []string{"1", `"1"`} {
			if got := take(listenTo(id, ticks)); len(got) != 2 || got[0] != acknowledged(id, ticks) || !sameJSON(got[1], tick(id)) {
				t.Errorf("got %q", got)
			}
		}
		if got := take(listenTo("2", onlyA)); len(got) != 1 || !strings.Contains(got[0], "ask for ticks") {
			t.Errorf("got %q", got)
		}
		if got := take(listenTo("2", ticks)); len(got) != 2 { // the id is free again
			t.Errorf("got %q", got)
		}
		if got := take(cancel("1")); len(got) != 0 || <-told != listen.ErrCancelled {
			t.Errorf("got %q", got)
		}
		before := len(out.written())
		if err := x.Close(); err != nil || <-told != listen.ErrShutdown || <-told != listen.ErrShutdown {
			t.Errorf("Close: %v", err)
		}
		if got := raws(parseFrames(t, out.written()[before:])); len(got) != 2 {
			t.Errorf("got %q", got)
		}
	})
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
