package transport

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestLargeFramesAreWrittenInPieces(t *testing.T) {
	serveWith(t, nil, func() *fakeCatalogue { return withSlow(1<<20, 0) }, func(t *testing.T, c *client) {
		c.ask(read("1", other))
		if c.out.largest > 16<<10 || c.out.writes > 66 {
			t.Errorf("%d writes, one of %d bytes", c.out.writes, c.out.largest)
		}
	})
}

func TestPacedStreamsAreAskedAgain(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.send(listenTo("1", onlyA), listenTo("2", `"resourcesListChanged":true`))
		c.frames()
		changed := listen.Change{Keys: []string{a}, List: true}
		start := time.Now()
		c.hub.Publish(changed)
		if got := c.frames(); len(got) != 2 {
			t.Errorf("got %q", raws(got))
		}
		c.hub.Publish(changed)
		c.hub.Publish(changed)
		c.nothing()
		after(49 * time.Millisecond)
		c.nothing()
		after(time.Millisecond)
		c.raw(updated("1", a))
		c.hub.Publish(changed)
		c.send(cancel("1")) // a cancelled stream whose time comes says nothing
		after(449 * time.Millisecond)
		c.nothing()
		after(time.Millisecond)
		c.raw(listChanged("2"))
		if d := time.Since(start); d != 500*time.Millisecond {
			t.Errorf("after %v", d)
		}
		after(time.Hour)
		c.nothing()
	})
}

func TestAnswersAndStreamsTakeTurns(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		var uris, keys []string
		for i := range 200 {
			uris = append(uris, fmt.Sprintf("%q", fmt.Sprintf("test://top/%d", i)))
			keys = append(keys, fmt.Sprintf("test://top/%d", i))
		}
		c.send(listenTo(`"busy"`, `"resourceSubscriptions":[`+strings.Join(uris, ",")+`]`), listenTo(`"calm"`, onlyA))
		c.frames()
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(modern(`"first"`, "server/discover", ""))
		for i := range 50 {
			c.send(modern(fmt.Sprint(i), "server/discover", ""))
		}
		c.hub.Publish(listen.Change{Keys: append(keys, a)})
		c.out.setStall(nil)
		close(stall)
		position := map[string]int{}
		for i, f := range c.frames() {
			position[f.raw] = i
			if string(f.ID) == "49" {
				position["last answer"] = i
			}
		}
		if p := position[updated(`"calm"`, a)]; p == 0 || p > 5 {
			t.Errorf("the calm stream comes at %d", p)
		}
		if p := position["last answer"]; p > 105 {
			t.Errorf("the last answer comes at %d", p)
		}
	})
}

func TestReadyFramesShareAWrite(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(modern(`"first"`, "server/discover", ""))
		for i := range 20 {
			c.send(read(fmt.Sprint(i), a))
		}
		c.cat.contents["test://top/large"] = mcp.Contents{Data: make([]byte, burst)} // alone in its write
		c.send(read(`"large"`, "test://top/large"), read(`"after"`, a))
		c.out.setStall(nil)
		close(stall)
		if got := c.frames(); len(got) != 23 {
			t.Errorf("%d answers", len(got))
		}
		if c.out.writes > 6 { // the first, most of the rest, the large one alone in three pieces, what came later
			t.Errorf("%d writes", c.out.writes)
		}
	})
}

// A stream that is asked before its time is in the heap of times no more than once.
func TestTimersHoldEachStreamOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stepped(t, newFakeCatalogue(), io.Discard)
		var uris []string
		for i := range 10 {
			uris = append(uris, fmt.Sprintf(`"test://top/%d"`, i))
		}
		p.receive([]byte(listenTo("1", `"resourceSubscriptions":[`+strings.Join(uris, ",")+`]`)))
		p.turn(t)
		p.s.hub.Publish(listen.Change{Keys: []string{"test://top/0"}})
		p.turn(t)
		for i := range 10 { // the first is paced, each of the others is due at once
			p.s.hub.Publish(listen.Change{Keys: []string{"test://top/0", fmt.Sprint("test://top/", i)}})
			p.turn(t)
			if len(p.w.timers) != 1 {
				t.Fatalf("%d timers for one stream", len(p.w.timers))
			}
		}
		after(50 * time.Millisecond)
		p.turn(t)
		if len(p.w.timers) != 0 {
			t.Errorf("%d timers are left", len(p.w.timers))
		}
	})
}

// The client may use the id of a listen again as soon as it can have read the result, also while the rest is unread.
func TestIDOfAListenIsFreeWithItsResult(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		text := func(n int) {
			c.cat.contents["test://top/fill"] = mcp.Contents{Data: bytes.Repeat([]byte("x"), n), Text: true}
		}
		text(0)
		rest := len(c.ask(read("7", "test://top/fill")).raw) + len(acknowledged("1", "")) + 2
		// One write: an answer, the acknowledgement, and with the result the burst is full.
		text(burst - rest - len(completed("1"))/2)
		first, second := make(chan struct{}), make(chan struct{})
		c.out.setStall(first)
		c.send(modern("0", "server/discover", ""))
		c.send(read("7", "test://top/fill"))
		c.send(listenTo("1", ""))
		c.out.setStall(second)
		close(first)
		synctest.Wait()
		c.send(listenTo("1", onlyA))
		c.out.setStall(nil)
		close(second)
		got := raws(c.frames())
		if len(got) != 5 || got[3] != completed("1") || got[4] != acknowledged("1", onlyA) {
			for _, line := range got {
				t.Errorf("got %.200s", line)
			}
		}
	})
}

// A client that keeps asking for large answers hears of a change after the answer that is being written and one more.
func TestLargeAnswersDoNotSilenceStreams(t *testing.T) {
	for _, size := range []int{burst / 2, burst - 1, burst, 2*burst - 1<<10} {
		synctest.Test(t, func(t *testing.T) {
			const write = 10 * time.Millisecond
			each := write * time.Duration((size+1<<10)/piece+1) // an answer
			c := connect(t, nil, newFakeCatalogue())
			c.cat.contents["test://top/large"] = mcp.Contents{MIMEType: "text/plain", Data: bytes.Repeat([]byte("x"), size), Text: true}
			c.send(listenTo(`"l"`, onlyA))
			c.frames()
			c.out.mu.Lock()
			c.out.pause = write
			c.out.mu.Unlock()
			var lines strings.Builder
			for i := range 30 {
				lines.WriteString(read(fmt.Sprint(i), "test://top/large") + "\n")
			}
			if _, err := io.WriteString(c.in, lines.String()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for round := range 3 {
				synctest.Wait()
				before := len(c.out.written())
				c.hub.Publish(listen.Change{Keys: []string{a}})
				after(3 * each)
				if !bytes.Contains(c.out.written()[before:], []byte(updated(`"l"`, a))) {
					t.Errorf("answers of %d bytes silence the stream in round %d", size, round)
				}
				after(5 * each)
			}
			c.close()
		})
	}
}

func TestQueueKeepsOrderAndForgetsWhatIsTakenOut(t *testing.T) {
	var q queue[int]
	links := make([]link[int], 100)
	for i := range links {
		q.push(&links[i], i)
	}
	for i := range links {
		if i%3 != 0 {
			links[i].remove()
			links[i].remove() // is not there any more
		}
	}
	q.push(&links[1], 1)
	for _, want := range append(multiplesOf3(100), 1) {
		got, ok := q.first()
		if !ok || got != want || !links[got].queued() {
			t.Fatalf("got %d, %v, want %d", got, ok, want)
		}
		links[got].remove()
		if links[got].queued() {
			t.Error("still there")
		}
	}
	if got, ok := q.first(); ok {
		t.Errorf("left over: %d", got)
	}
}

func multiplesOf3(below int) (all []int) {
	for i := 0; i < below; i += 3 {
		all = append(all, i)
	}
	return all
}

// Who comes too late with an answer does not write it where nobody else writes any more: the end would cut it.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	out := &sink{}
	f := newInflight(1, nil)
	w := newWriter(out, f)
	c := &call{kept: true}
	if !f.admit(c) || !f.keep(c) {
		t.Fatal("the call is not accepted")
	}
	f.advance(phaseCut)
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	frame := []byte("late")
	f.store(c, &frame)
	w.help()
	if got := out.written(); len(got) > 0 {
		t.Errorf("%q is written", got)
	}
}
