package transport

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

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
	if f.ready != len(short) || f.next(math.MaxInt) != b.calls[0] || b.calls[0].frame != nil || b.calls[1].frame != &short || b.calls[2].frame != nil {
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
		if c := p.f.next(math.MaxInt); c != nil {
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
	pad := strings.Repeat("p", 1<<17)
	synctest.Test(t, func(t *testing.T) {
		cat := newFakeCatalogue()
		cat.block[a] = make(chan struct{})
		c := connect(t, nil, cat)
		c.ask(initialize(`"i"`, mcp.Legacy20250326))
		before := liveBytes()
		for i := range 40 {
			c.send("[" + legacy(fmt.Sprint(i), "resources/read", `"uri":"`+a+`"`) + `,{"jsonrpc":"2.0","method":"x","params":{"pad":"` + pad + `"}}]`)
		}
		if grown := liveBytes() - before; grown > 2<<20 {
			t.Errorf("%d bytes are kept", grown)
		}
		close(cat.block[a])
		c.close()
	})
}
