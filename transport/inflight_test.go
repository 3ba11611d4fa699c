package transport

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
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
			if f.next(math.MaxInt) == nil {
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

// The request of an open listen, and of an answer that waits, is not kept.
func TestRequestsAreLetGoWhenAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stepped(t, newFakeCatalogue(), io.Discard)
		for i, line := range []string{listenTo("1", onlyA), modern("2", "server/discover", ""), read("3", a)} {
			c := p.parse([]byte(line))
			p.accept(c)
			synctest.Wait()
			if c.msg.Params != nil || c.req.params.Given() {
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

// A stream that is opened too late is over before anybody takes the work for done.
func TestUnwantedStreamIsOverBeforeTheWorkIs(t *testing.T) {
	for name, end := range map[string]func(*inflight, *call){
		"cancelled": func(f *inflight, c *call) { f.cancel(c.id); f.advance(phaseCut) },
		"cut off":   func(f *inflight, _ *call) { f.advance(phaseCut) },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newInflight(1, func(*call) {})
			id, _ := jsonrpc.ParseID([]byte("1"))
			c := &call{id: id, weight: 1}
			f.admit(c)
			f.start(c)
			end(f, c)
			if ok, _ := f.open(&carrier{call: c}); ok {
				t.Errorf("%s: the stream is wanted", name)
			}
			if f.resting() {
				t.Errorf("%s: the work is done although the stream is not over", name)
			}
			f.decline(c)
			if !f.resting() {
				t.Errorf("%s: the work is not done", name)
			}
			f.check(t)
		})
	}
}
