package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// check fails unless nothing at all is in flight.
func (f *inflight) check(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	_, waiting := f.waiting.first()
	_, answers := f.answers.first()
	if waiting || answers || len(f.calls)+len(f.streams) != 0 || f.workers|f.owed|f.weight|f.ready|f.whole|f.partial != 0 {
		t.Errorf("left over: %+v", f)
	}
}

// stepped is a pipe whose input and output are moved by the test.
func stepped(t *testing.T, cat *fakeCatalogue, out io.Writer) *pipe {
	return newPipe(NewServer(cat, listen.NewHub(nil), nil), t.Context(), out)
}

// turn writes all that is ready.
func (p *pipe) turn(t *testing.T) {
	t.Helper()
	for {
		synctest.Wait()
		switch wrote, err := p.w.step(time.Now()); {
		case err != nil:
			t.Fatal(err)
		case !wrote:
			return
		}
	}
}

func TestUnwrittenAnswersHoldUpFurtherWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *inflight
		f = newInflight(10, func(c *call) {
			frame := make([]byte, 60)
			f.store(c, &frame)
		})
		f.maxReady = 100
		calls := make([]*call, 5)
		for i := range calls {
			calls[i] = &call{refusal: errLeaving} // unlisted
			f.admit(calls[i])
			f.start(calls[i])
			synctest.Wait()
		}
		if f.ready != 120 {
			t.Fatalf("%d bytes of answers wait", f.ready)
		}
		for range calls {
			if f.next(true) == nil {
				t.Fatal("no answer")
			}
			synctest.Wait()
		}
		f.check(t)
	})
}

// Whatever is cancelled leaves nothing behind, also while everything else waits.
func TestCancelledCallsLeaveNothingBehind(t *testing.T) {
	pad := strings.Repeat("p", 1<<16)
	for name, ask := range map[string]func(id string) string{
		"for a worker":   func(id string) string { return modern(id, "resources/read", `,"uri":"`+a+`","pad":"`+pad+`"`) },
		"for the output": func(id string) string { return modern(id, "server/discover", `,"pad":"`+pad+`"`) },
		"for a turn":     func(id string) string { return legacy(id, "resources/subscribe", `"uri":"`+a+`","pad":"`+pad+`"`) },
		"in a batch": func(id string) string {
			return "[" + legacy(id, "resources/read", `"uri":"`+a+`","pad":"`+pad+`"`) + "]"
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cat := newFakeCatalogue()
				gate := make(chan struct{})
				cat.block[a], cat.slowBaseline = gate, gate
				c := connect(t, nil, cat)
				c.ask(initialize(`"i"`, mcp.Legacy20250326))
				c.out.setStall(gate)
				for i := range 63 {
					c.send(read(fmt.Sprintf(`"r%d"`, i), a))
				}
				c.send(legacy(`"s"`, "resources/subscribe", `"uri":"`+a+`"`), modern(`"d"`, "server/discover", ""))
				before := liveBytes()
				for i := range 100 {
					id := fmt.Sprint(i)
					c.send(ask(id), cancel(id))
				}
				if grown := liveBytes() - before; grown > 2<<20 {
					t.Errorf("%d bytes are left of what was cancelled", grown)
				}
				close(gate)
				if got := c.frames(); len(got) != 65 {
					t.Errorf("%d answers", len(got))
				}
				c.close()
			})
		})
	}
}

// liveBytes is how many bytes live.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The request of an open listen, and of an answer that waits, is not kept.
func TestRequestsAreLetGoWhenAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stepped(t, newFakeCatalogue(), io.Discard)
		for i, line := range []string{listenTo("1", onlyA), modern("2", "server/discover", ""), read("3", a)} {
			c := p.parse([]byte(line))
			p.accept(c)
			synctest.Wait()
			if c.msg.Params != nil || c.req.params != nil {
				t.Errorf("request %d is kept in state %d", i+1, c.state)
			}
		}
	})
}

func TestCancelledListensLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stepped(t, newFakeCatalogue(), io.Discard)
		for range 100 {
			p.receive([]byte(listenTo("1", onlyA)))
			synctest.Wait()
			p.receive([]byte(cancel("1")))
		}
		if s := p.w.nextStream(); s != nil {
			t.Error("a cancelled stream waits for its turn")
		}
		p.receive([]byte(initialize("1", mcp.Legacy20251125)))
		p.turn(t)
		p.s.hub.Publish(listen.Change{List: true})
		p.receive([]byte(initialize("1", mcp.Legacy20251125)))
		p.s.hub.Publish(listen.Change{List: true})
		if s := p.w.nextStream(); s != nil {
			t.Error("the stream of a replaced session waits for its turn")
		}
		p.turn(t)
		if p.s.hub.Len() != 1 {
			t.Errorf("%d streams", p.s.hub.Len())
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

func TestNothingStartsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cat := newFakeCatalogue()
		gate := make(chan struct{})
		defer close(gate)
		cat.block[a] = gate
		p := stepped(t, cat, io.Discard)
		calls := []*call{
			p.parse([]byte(read("1", a))), p.parse([]byte(initialize("2", mcp.Legacy20251125))), p.parse([]byte(listenTo("3", onlyA))),
		}
		p.f.admit(calls...)
		// A listen that is served already.
		late := p.parse([]byte(listenTo("4", onlyA)))
		p.f.admit(late)
		late.req, _ = p.s.route(&late.msg, origin{})
		late.ctx, late.stop = context.WithCancel(p.work)
		late.state = working
		p.f.workers++

		p.flee(func(error) {}, fleeGrace)
		for _, c := range calls {
			p.begin(c)
		}
		p.serve(late)
		synctest.Wait()
		if !p.f.resting() || p.s.hub.Len() != 0 || len(p.f.streams) != 0 {
			t.Errorf("%d workers, %d streams", p.f.workers, p.s.hub.Len())
		}
		if p.f.admit(&call{}) {
			t.Error("a call is admitted")
		}
	})
}

// What comes after the end has begun, but before it is closed, is completed at once.
func TestStreamsOpenedDuringTheEndAreCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sink
		p := stepped(t, newFakeCatalogue(), &out)
		p.f.advance(phaseEnding)
		p.receive([]byte(initialize("1", mcp.Legacy20251125)))
		p.receive([]byte(listenTo("2", onlyA)))
		p.turn(t)
		if p.f.drained() {
			t.Error("drained although more may be accepted")
		}
		p.f.advance(phaseClosed)
		if got := parseFrames(t, out.data); !p.f.drained() || len(got) != 3 || got[2].raw != completed("2") {
			t.Errorf("got %q", raws(got))
		}
		p.f.check(t)
	})
}

// batchOf is a batch of reads, whose ids begin with name.
func batchOf(name string, n int, uri string) string {
	var members []string
	for i := range n {
		members = append(members, legacy(fmt.Sprintf("%q", fmt.Sprint(name, i)), "resources/read", `"uri":"`+uri+`"`))
	}
	return "[" + strings.Join(members, ",") + "]"
}

// The answers to batches wait within the budget of memory; beyond it the rest of a batch is refused, whatever the
// output does, and every member is answered.
func TestBatchesKeepWithinTheBudget(t *testing.T) {
	const size, budget = 100_000, 1_000_000
	synctest.Test(t, func(t *testing.T) {
		var out sink
		cat := newFakeCatalogue()
		cat.contents["test://top/m"] = mcp.Contents{Data: bytes.Repeat([]byte("x"), size), Text: true}
		p := stepped(t, cat, &out)
		p.f.maxPartial, p.f.maxWorkers = budget, 4
		p.receive([]byte(initialize("0", mcp.Legacy20250326)))
		p.turn(t)
		out.data = nil
		for _, name := range []string{"a", "b", "c"} {
			p.receiveBatch([]byte(batchOf(name, 40, "test://top/m")))
		}
		for i := range 20 {
			p.receive([]byte(read(fmt.Sprint(i), "test://top/m")))
		}
		p.receive([]byte(cancel(`"c0"`)))
		p.receive([]byte(cancel(`"c39"`)))
		synctest.Wait()
		if most := budget + 2*size; p.f.ready+p.f.partial > most+p.f.maxReady+5*size || p.f.partial > most {
			t.Errorf("%d + %d bytes of answers wait", p.f.ready, p.f.partial)
		}
		p.turn(t)
		answers, results := 0, 0
		for _, f := range parseFrames(t, out.data) {
			answers += strings.Count(f.raw, `"jsonrpc"`)
			results += strings.Count(f.raw, `"contents"`)
			if n := strings.Count(f.raw, `"error":{"code":-32603,"message":"the answers to batches are too large`); f.raw[0] == '[' &&
				n+strings.Count(f.raw, `"contents"`) != strings.Count(f.raw, `"jsonrpc"`) {
				t.Errorf("got %.300s", f.raw)
			}
		}
		if answers != 138 || results < 20+10 || results > 20+3*14 {
			t.Errorf("%d answers, %d results", answers, results)
		}
		p.s.hub.Shutdown(canceled())
		p.turn(t)
		p.f.check(t)
	})
}

func canceled() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}

// Two batches that hold all memory do not wait for each other, and the requests behind them are served.
func TestBatchesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sink
		cat := newFakeCatalogue()
		gate := make(chan struct{})
		cat.block["test://top/slow"] = gate
		cat.contents["test://top/slow"] = mcp.Contents{Data: []byte("x"), Text: true}
		cat.contents["test://top/m"] = mcp.Contents{Data: bytes.Repeat([]byte("x"), 60), Text: true}
		p := stepped(t, cat, &out)
		p.f.maxPartial, p.f.maxWorkers = 1000, 2
		p.receive([]byte(initialize("0", mcp.Legacy20250326)))
		p.turn(t)
		out.data = nil
		for _, name := range []string{"a", "b"} {
			p.receiveBatch([]byte("[" + strings.Trim(batchOf(name+"s", 1, "test://top/slow"), "[]") + "," + strings.Trim(batchOf(name, 30, "test://top/m"), "[]") + "]"))
		}
		p.receive([]byte(read("1", a)))
		p.turn(t)
		close(gate)
		p.turn(t)
		got := parseFrames(t, out.data)
		if len(got) != 3 || strings.Count(string(out.data), `"jsonrpc"`) != 63 {
			t.Errorf("got %d messages: %.2000q", len(got), raws(got))
		}
	})
}

// A large batch is not put together once more to be written.
func TestLargeBatchIsWrittenInPieces(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		c.cat.contents["test://top/m"] = mcp.Contents{Data: bytes.Repeat([]byte("x"), 2*burst), Text: true}
		c.cat.contents["test://top/s"] = mcp.Contents{Data: bytes.Repeat([]byte("x"), burst/3), Text: true}
		c.ask(initialize("0", mcp.Legacy20250326))
		for _, uri := range []string{"test://top/m", "test://top/s", a} {
			c.ask("[" + strings.Trim(batchOf("x", 20, uri), "[]") + "," + strings.Trim(batchOf("y", 20, "test://top/s"), "[]") + "]")
			if c.out.largest > 4*burst {
				t.Errorf("a write of %d bytes", c.out.largest)
			}
		}
	})
}

// What is still to come of a batch that has spent its memory is refused, unless its answer is short.
func TestRestOfASpentBatchIsRefused(t *testing.T) {
	f := newInflight(1, func(*call) { t.Error("started") })
	b := &batch{spent: true}
	for range 3 {
		b.calls = append(b.calls, &call{batch: b, refusal: errLeaving}) // unlisted
	}
	f.admit(b.calls...)
	long, short := make([]byte, 2000), make([]byte, 20)
	if f.store(b.calls[0], &long) || f.store(b.calls[1], &short) || !f.start(b.calls[2]) {
		t.Error("ready too early, or not at all")
	}
	if f.ready != len(short) || f.next(true) != b.calls[0] || b.calls[0].frame != nil || b.calls[1].frame != &short || b.calls[2].frame != nil {
		t.Errorf("%d bytes wait", f.ready)
	}
	f.check(t)
}

func TestCancellationsCompleteOrEmptyABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stepped(t, newFakeCatalogue(), io.Discard)
		p.receive([]byte(initialize("0", mcp.Legacy20250326)))
		p.turn(t)
		p.receiveBatch([]byte(batchOf("r", 2, a)))
		synctest.Wait()
		p.receive([]byte(cancel(`"r0"`)))
		p.receive([]byte(cancel(`"r1"`)))
		if c := p.f.next(true); c != nil {
			t.Error("an empty batch waits to be written")
		}
	})
	serve(t, func(t *testing.T, c *client) {
		c.cat.block[a] = make(chan struct{})
		c.ask(initialize("0", mcp.Legacy20250326))
		c.send("["+legacy("1", "ping", "")+","+legacy("2", "resources/read", `"uri":"`+a+`"`)+"]", cancel("2"))
		c.raw(`[{"jsonrpc":"2.0","id":1,"result":{}}]`)
	})
}

// What a batch holds besides requests is not kept with them: only requests are weighed.
func TestBatchKeepsNoMoreThanItsRequests(t *testing.T) {
	pad := strings.Repeat("p", 1<<18)
	synctest.Test(t, func(t *testing.T) {
		cat := newFakeCatalogue()
		cat.block[a] = make(chan struct{})
		c := connect(t, nil, cat)
		c.ask(initialize(`"i"`, mcp.Legacy20250326))
		before := liveBytes()
		for i := range 40 {
			c.send("[" + legacy(fmt.Sprint(i), "resources/read", `"uri":"`+a+`"`) + `,{"jsonrpc":"2.0","method":"x","params":{"pad":"` + pad + `"}}]`)
		}
		if grown := liveBytes() - before; grown > 4<<20 {
			t.Errorf("%d bytes are kept", grown)
		}
		close(cat.block[a])
		c.close()
	})
}

// Whole batches that wait for the output are bounded too: those whose reads wait for memory go on when a batch has given
// its memory back.
func TestWholeBatchesKeepWithinTheBudget(t *testing.T) {
	const size, budget, n = 100_000, 1_000_000, 40
	synctest.Test(t, func(t *testing.T) {
		var out sink
		cat := withSlow(size, time.Millisecond)
		p := newPipe(NewServer(cat, listen.NewHub(nil), &Options{MaxReadMemory: size}), t.Context(), &out)
		p.f.maxPartial = budget
		p.receive([]byte(initialize("0", mcp.Legacy20250326)))
		p.turn(t)
		out.data = nil
		for i := range n {
			p.receiveBatch([]byte(batchOf(fmt.Sprint("r", i, "-"), 1, other)))
		}
		after(time.Second)
		if p.f.ready > budget+2*size {
			t.Errorf("%d bytes of answers wait", p.f.ready)
		}
		p.turn(t)
		if got := parseFrames(t, out.data); len(got) != n {
			t.Errorf("%d answers", len(got))
		}
		p.receiveBatch([]byte(batchOf("last", 1, other)))
		p.s.hub.Shutdown(canceled())
		after(time.Second)
		p.turn(t)
		p.f.check(t)
	})
}

// registry is a context that counts those derived from it and not ended.
type registry struct {
	context.Context
	done    chan struct{}
	derived atomic.Int64
}

func (r *registry) Done() <-chan struct{} { return r.done }

func (r *registry) AfterFunc(func()) (stop func() bool) {
	r.derived.Add(1)
	return func() bool { return r.derived.Add(-1) >= 0 }
}

// Whatever becomes of a call, its context does not stay with that of the pipe, which lives as long as the client.
func TestContextsOfCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := &registry{Context: t.Context(), done: make(chan struct{})}
		p := newPipe(NewServer(newFakeCatalogue(), listen.NewHub(nil), nil), work, io.Discard)
		p.f.maxPartial, p.f.maxWorkers = 1, 1
		p.receive([]byte(initialize("0", mcp.Legacy20250326)))
		p.turn(t)
		p.receiveBatch([]byte(batchOf("refused", 30, a)))
		p.turn(t)
		gate := make(chan struct{})
		p.s.cat.(*fakeCatalogue).block[a] = gate
		p.receive([]byte(read("1", a)))
		p.receive([]byte(read("2", a)))
		p.receive([]byte(listenTo("3", onlyA)))
		p.receive([]byte(cancel("1")))
		p.receive([]byte(cancel("2")))
		close(gate)
		p.turn(t)
		if n := work.derived.Load(); n != 0 {
			t.Errorf("%d contexts are left", n)
		}
	})
}
