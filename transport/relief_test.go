package transport

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Who is held up is relieved once, within two ticks, and whoever comes back in time is not. Nothing ticks while nothing happens.
func TestRelief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relieved := 0
		r := newRelief(func() { relieved++ })
		defer r.end()
		for range 3 {
			if !r.back(r.lend()) || relieved != 0 {
				t.Fatalf("%d are relieved", relieved)
			}
			after(reliefTick * 2 / 3)
		}
		loan := r.lend()
		after(2 * reliefTick)
		if relieved != 1 || r.back(loan) {
			t.Fatalf("%d are relieved", relieved)
		}
		again := r.lend()
		if r.back(loan) {
			t.Fatal("a loan that is over ends another")
		}
		if !r.back(again) {
			t.Fatal("who came back at once is relieved")
		}
		after(time.Hour)
		if relieved != 1 {
			t.Errorf("%d are relieved", relieved)
		}
		if r.ticking.Load() {
			t.Error("it ticks though nothing happens")
		}
		loan = r.lend()
		after(2 * reliefTick)
		if relieved != 2 || r.back(loan) {
			t.Error("nobody is relieved after a rest")
		}
		r.lend()
		r.end()
		after(time.Hour)
		if relieved != 2 {
			t.Error("somebody is relieved after the end")
		}
	})
}

// A request that is all there is, is served by who has read it. Beside it others are served at once, and read once somebody else
// reads.
func TestLoneRequestIsServedByItsReader(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a] = gate
		took := func() time.Duration {
			start := time.Now()
			c.ask(modern("0", "server/discover", ""))
			return time.Since(start)
		}
		c.send(read("1", a))
		if d := took(); d == 0 || d > 2*reliefTick {
			t.Errorf("the next request waited for %v", d)
		}
		c.send(read("2", a))
		if d := took(); d != 0 {
			t.Errorf("beside a request that was not alone the next waited for %v", d)
		}
		close(gate)
		if got := c.frames(); len(got) != 2 {
			t.Errorf("got %q", raws(got))
		}
	})
}

// Whatever holds up who reads keeps nothing from being read: a cancellation reaches what is served, and nothing is said to it.
func TestCancelledLoneRequest(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		gate := make(chan struct{})
		c.cat.block[a] = gate
		c.send(read("1", a))
		c.send(cancel("1"))
		close(gate)
		c.nothing()
		c.ask(read("1", b))
	})
}

// The same with an output that takes nothing.
func TestLoneAnswerThatIsNotTaken(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(read("1", a))
		for i := range 5 {
			c.send(read(fmt.Sprint(10+i), b))
		}
		c.send(cancel("12"))
		c.out.setStall(nil)
		close(stall)
		if got := c.frames(); len(got) != 5 {
			t.Errorf("got %q", raws(got))
		}
	})
}

// The end of input does not overtake the answer that who reads no longer is still writing.
func TestLoneAnswerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, newFakeCatalogue())
		c.out.pause = 10 * time.Millisecond
		c.send(read("1", a))
		c.close()
		if got := c.frames(); len(got) != 1 {
			t.Errorf("got %q", raws(got))
		}
	})
}

// An output that fails ends it, whoever writes.
func TestLoneAnswerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, newFakeCatalogue())
		c.out.err = errors.New("no space")
		c.send(read("1", a))
		if err := <-c.done; err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("ServeStdio: %v", err)
		}
		c.stop()
	})
}

// However many answers wait for an output that takes nothing, and are cancelled, one goroutine waits with them.
func TestLoneAnswersThatWaitHoldNobody(t *testing.T) {
	serve(t, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(read("1", a)) // who has read this one writes
		after(2 * reliefTick)
		before := runtime.NumGoroutine()
		for i := range 20 {
			id := fmt.Sprint(10 + i)
			c.send(read(id, b))
			after(2 * reliefTick)
			c.send(cancel(id))
		}
		if more := runtime.NumGoroutine() - before; more > 2 {
			t.Errorf("%d more goroutines wait", more)
		}
		c.out.setStall(nil)
		close(stall)
		c.only()
	})
}

// A lone request may be read just when all is given up. It leaves nothing behind that somebody would wait for.
func TestLoneRequestWhenAllIsOver(t *testing.T) {
	s := NewServer(newFakeCatalogue(), listen.NewHub(nil), nil)
	for i := range 20_000 {
		p := newPipe(s, t.Context(), io.Discard)
		p.lines = newLineReader(strings.NewReader(modern("1", "server/discover", "")+"\n"), 1<<10)
		p.relief = newRelief(p.read)
		over := make(chan struct{})
		var begun atomic.Bool
		go func() {
			defer close(over)
			for !begun.Load() {
				runtime.Gosched()
			}
			for range i % 997 * 10 { // sooner or later
			}
			p.silence()
		}()
		runtime.Gosched()
		begun.Store(true)
		p.read()
		<-over
		p.relief.end()
		if !p.f.resting() {
			t.Fatalf("after %d a request is still being worked on", i)
		}
	}
}
