package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

const other = "test://top/other"

// endings are the ways to tell a server to leave.
var endings = map[string]func(c *client){
	"input":   func(c *client) { c.in.Close() },
	"context": func(c *client) { c.stop() },
}

// withSlow serves a file that takes some time.
func withSlow(size int, takes time.Duration) *fakeCatalogue {
	cat := newFakeCatalogue()
	cat.contents[other] = mcp.Contents{MIMEType: "text/plain", Data: bytes.Repeat([]byte("x"), size), Text: true}
	cat.takes = takes
	return cat
}

// A client that reads slowly but steadily gets everything it asked for before the end of input, whatever its pace and
// however long that takes; also what had to wait for memory. At either pace one answer takes longer than any grace, and
// each read needs all of the memory. They are no larger than that asks for: the race detector looks at each byte of theirs
// a dozen times.
func TestSlowClientGetsAllAnswers(t *testing.T) {
	for name, slow := range map[string]func(s *sink){
		"often":  func(s *sink) { s.pause = 100 * time.Millisecond },
		"seldom": func(s *sink) { s.pause = 1500 * time.Millisecond },
		// The pieces that are written before the end are larger, and one of them is on its way.
		"by bytes": func(s *sink) { s.perKiB = 500 * time.Millisecond / 8 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 5
				c := connect(t, &Options{MaxReadMemory: 256 << 10}, withSlow(100_000, 0))
				c.send(listenTo(`"l"`, onlyA))
				c.frames()
				c.out.mu.Lock()
				slow(c.out)
				c.out.mu.Unlock()
				for i := range n {
					c.send(read(fmt.Sprint(i), other))
				}
				start := time.Now()
				c.close()
				if d := time.Since(start); d < n*writeGrace {
					t.Errorf("took %v", d)
				}
				got := c.frames()
				if len(got) != n+1 {
					t.Errorf("%d answers", len(got))
				}
				for _, f := range got {
					if f.Result == nil {
						t.Errorf("got %.200s", f.raw)
					}
				}
			})
		})
	}
}

// demands are the ways to demand to leave.
var demands = map[string]func(c *client){
	"at once": func(c *client) { c.stop() },
	"after the end of input": func(c *client) {
		c.in.Close()
		after(3 * time.Second)
		c.stop()
	},
}

// A demand to leave is met in time although there is progress. What a slow client can take until then is written, and no
// frame is cut but one that is too large for it. One line says that something is missing.
func TestDemandToLeaveIsMetInTime(t *testing.T) {
	for name, demand := range demands {
		for size, cut := range map[int]bool{100_000: false, 1_000_000: true} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					c := connect(t, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, withSlow(size, 0))
					c.out.pause = 10 * time.Millisecond
					c.send(listenTo(`"l"`, onlyA))
					for i := range 30 {
						c.send(read(fmt.Sprint(i), other))
					}
					demand(c)
					start, before := time.Now(), len(c.out.written())
					c.wait()
					if d := time.Since(start); d > 1600*time.Millisecond {
						t.Errorf("took %v", d)
					}
					after(time.Second) // what is on its way
					if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "without having written everything") {
						t.Errorf("said %q", log.String())
					}
					if ends := bytes.HasSuffix(c.out.written(), []byte("\n")); ends == cut {
						t.Errorf("the last frame is cut: %v", !ends)
					}
					if cut {
						return
					}
					if n := bytes.Count(c.out.written()[before:], []byte("\n")); n < 3 {
						t.Errorf("%d frames", n)
					}
					if !slices.Contains(raws(c.frames()), completed(`"l"`)) {
						t.Error("the listen is not completed")
					}
				})
			})
		}
	}
}

// What is small is written although something larger has waited longer.
func TestDemandToLeaveWritesWhatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const medium = "test://top/medium"
		c := connect(t, nil, withSlow(1_000_000, 0))
		c.cat.contents[medium] = mcp.Contents{MIMEType: "text/plain", Data: bytes.Repeat([]byte("x"), 100_000), Text: true}
		c.out.pause = 10 * time.Millisecond // 2.4 s for the large one
		gate := make(chan struct{})
		c.cat.block[a] = gate
		for i, uri := range []string{medium, a, other} {
			c.send(read(fmt.Sprint(i), uri))
		}
		close(gate)
		synctest.Wait()
		c.stop()
		c.wait()
		var ids []string
		for _, f := range c.frames() {
			ids = append(ids, string(f.ID))
		}
		if !slices.Equal(ids, []string{"0", "1"}) {
			t.Errorf("got %q", ids)
		}
	})
}

// A client that reads again when it demands to leave gets everything.
func TestDemandToLeaveAfterAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, withSlow(100_000, 0))
		stall := make(chan struct{})
		c.out.setStall(stall)
		for i := range 5 {
			c.send(read(fmt.Sprint(i), other))
		}
		after(time.Hour)
		c.stop()
		after(100 * time.Millisecond)
		c.out.mu.Lock()
		c.out.stall, c.out.pause = nil, time.Millisecond
		c.out.mu.Unlock()
		close(stall)
		c.wait()
		if got := c.frames(); len(got) != 5 {
			t.Errorf("%d answers", len(got))
		}
	})
}

// Work that is done call by call is waited for as long as calls are answered, or until it is too late for a demand.
func TestSlowWorkIsAnsweredWhileItProgresses(t *testing.T) {
	for name, takes := range map[string]time.Duration{"input": 5 * time.Second, "context": demandedWork} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, &Options{MaxInFlight: 1}, withSlow(10, 500*time.Millisecond))
				start := time.Now()
				for i := range 10 {
					c.send(read(fmt.Sprint(i), other))
				}
				endings[name](c)
				c.wait()
				if d := time.Since(start); d < takes || d > takes+400*time.Millisecond {
					t.Errorf("took %v", d)
				}
				got := c.frames()
				if len(got) != 10 {
					t.Errorf("%d answers", len(got))
				}
				for i, f := range got {
					if name == "context" && i >= 2 {
						f.wantError(t, fmt.Sprint(i), -32603, "shutting down")
					} else if string(f.ID) != fmt.Sprint(i) || f.Result == nil {
						t.Errorf("got %s", f.raw)
					}
				}
			})
		})
	}
}

// What hangs is given up within a second of the last progress, not before.
func TestHungWorkIsGivenUpAfterTheLastProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, withSlow(100_000, 0))
		gate := make(chan struct{})
		defer close(gate)
		c.cat.block[a], c.cat.deaf = gate, true
		c.out.pause = 20 * time.Millisecond
		c.send(read(`"hung"`, a))
		for i := range 5 {
			c.send(read(fmt.Sprint(i), other))
		}
		start := time.Now()
		c.close()
		last := c.out.lastWrite()
		if d := time.Since(last); d < 850*time.Millisecond || d > time.Second {
			t.Errorf("left %v after the last byte", d)
		}
		if last.Sub(start) < time.Second {
			t.Errorf("the last byte came after %v", last.Sub(start))
		}
		if got := c.frames(); len(got) != 5 {
			t.Errorf("%d answers", len(got))
		}
	})
}

// An output that stalls in the middle of the end is left behind within two seconds, with or without work that hangs.
func TestOutputThatStallsLaterDoesNotKeepTheServer(t *testing.T) {
	for _, hung := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, nil, withSlow(100_000, 0))
			gate, stall := make(chan struct{}), make(chan struct{})
			c.cat.deaf = true
			if hung {
				c.cat.block[a] = gate
			}
			c.out.pause = 100 * time.Millisecond
			c.send(read(`"a"`, a))
			for i := range 5 {
				c.send(read(fmt.Sprint(i), other))
			}
			c.in.Close()
			after(5 * time.Second)
			c.out.setStall(stall)
			c.wait()
			if d := time.Since(c.out.lastWrite()); d < writeGrace || d >= 2*time.Second {
				t.Errorf("left %v after the last byte", d)
			}
			written := c.out.writes
			close(gate)
			close(stall)
			after(time.Minute)
			if c.out.writes > written+1 {
				t.Errorf("%d writes after leaving", c.out.writes-written)
			}
			// What was not written holds no memory of the server's.
			c.mem.untouched(t)
		})
	}
}

func TestSlowRequestIsAnsweredAfterTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &Options{MaxInFlight: 1}, newFakeCatalogue())
		gate := make(chan struct{})
		c.cat.block[a] = gate
		c.cat.slowBaseline = gate
		c.send(read("1", a), listenTo("2", onlyA), read("3", b))
		c.in.Close()
		after(500 * time.Millisecond)
		c.nothing()
		close(gate)
		c.wait()
		got := c.frames()
		if len(got) != 4 || got[0].Result == nil || slices.Index(raws(got), acknowledged("2", onlyA)) > slices.Index(raws(got), completed("2")) {
			t.Errorf("got %q", raws(got))
		}
	})
}

func TestEndOfContextAnswersAndCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, newFakeCatalogue())
		gate := make(chan struct{})
		c.cat.block[a] = gate
		c.send(initialize("0", "2025-11-25"), read("1", a), listenTo("2", onlyA))
		c.frames()
		c.stop()
		c.raw(completed("2"))
		if _, err := io.WriteString(c.in, read("9", b)+"\n"); err != nil {
			t.Error(err)
		}
		close(gate)
		c.wait()
		if f := c.only(); string(f.ID) != "1" || f.Result == nil {
			t.Errorf("got %s", f.raw)
		}
	})
}

// What had been read ahead when the input ended is answered all the same, once the output takes it.
func TestWhatWasReadAheadIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, nil, newFakeCatalogue())
		stall := make(chan struct{})
		c.out.setStall(stall)
		const n = 8000 // half as many again as are accepted
		for i := range n {
			if _, err := io.WriteString(c.in, legacy(fmt.Sprint(i), "ping", "")+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(c.in, initialize(`"i"`, "2025-11-25")+"\n"+listenTo(`"l"`, onlyA)); err != nil {
			t.Fatal(err)
		}
		c.in.Close()
		after(100 * time.Millisecond)
		close(stall)
		start := time.Now()
		c.wait()
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
		got := c.frames()
		if len(got) != n+3 || !slices.Contains(raws(got), completed(`"l"`)) {
			t.Errorf("%d answers", len(got))
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

// Cancellations that come during the end are heeded: nothing is owed any more.
func TestCancellationsDuringTheEnd(t *testing.T) {
	for _, batch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, nil, newFakeCatalogue())
			c.cat.block[a] = make(chan struct{})
			if batch {
				c.ask(initialize("0", "2025-03-26"))
				c.send(batchOf("r", 2, a))
			} else {
				c.send(read(`"r0"`, a), read(`"r1"`, a))
			}
			start := time.Now()
			c.stop()
			synctest.Wait()
			c.send(cancel(`"r0"`), read(`"too late"`, b))
			c.nothing()
			c.send(cancel(`"r1"`))
			c.wait()
			if d := time.Since(start); d != 0 {
				t.Errorf("took %v", d)
			}
			c.nothing()
		})
	}
}

// A batch that arrives as the end does is accepted as a whole or not at all: half of one would never be complete.
func TestBatchIsNotCutByTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stepped(t, newFakeCatalogue(), io.Discard)
		p.receive([]byte(initialize("0", "2025-03-26")))
		p.turn(t)
		work := p.f.work
		p.f.work = func(c *call) {
			p.f.advance(phaseClosed)
			work(c)
		}
		p.receiveBatch([]byte(batchOf("r", 3, a)))
		p.turn(t)
		if p.f.owed != 0 {
			t.Errorf("%d answers are owed", p.f.owed)
		}
		p.receiveBatch([]byte(batchOf("r", 3, a)))
		if p.f.owed != 0 {
			t.Errorf("%d answers are owed", p.f.owed)
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
		late.ctx.Context = p.work
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

func TestBlockedRequestDoesNotKeepTheServer(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, nil, newFakeCatalogue())
			gate := make(chan struct{})
			c.cat.block[a], c.cat.deaf = gate, deaf
			c.send(read("1", a), listenTo("2", onlyA), read("3", b))
			c.frames()
			start := time.Now()
			c.close()
			if d := time.Since(start); d >= time.Second {
				t.Errorf("took %v", d)
			}
			got := c.frames()
			if got[0].raw != completed("2") {
				t.Errorf("got %q", raws(got))
			}
			if deaf {
				if len(got) != 1 {
					t.Errorf("got %q", raws(got))
				}
			} else {
				got[1].wantError(t, "1", -32603, "shutting down")
			}
			close(gate)
		})
	}
}

// Work that heeds its context, in its own time, is waited for even when its answer comes too late.
func TestWorkThatHeedsItsContextIsWaitedFor(t *testing.T) {
	for _, takes := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			cat := newFakeCatalogue()
			cat.block[a], cat.linger = make(chan struct{}), takes
			c := connect(t, nil, cat)
			c.send(read("1", a))
			start := time.Now()
			c.close()
			if d := time.Since(start); d >= time.Second {
				t.Errorf("took %v", d)
			}
			if left := c.cat.busy() != 0; left != (takes == time.Hour) {
				t.Errorf("work that takes %v: left behind is %v", takes, left)
			}
			after(takes)
		})
	}
}

func TestStalledOutputDoesNotKeepTheServer(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, nil, newFakeCatalogue())
				stall := make(chan struct{})
				c.out.setStall(stall)
				c.send(listenTo(`"l"`, onlyA), initialize(`"i"`, "2025-11-25"))
				for i := range 5000 {
					if _, err := io.WriteString(c.in, read(fmt.Sprint(i), a)+"\n"); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				after(time.Hour) // otherwise it is waited for
				select {
				case err := <-c.done:
					t.Fatalf("left: %v", err)
				default:
				}
				start := time.Now()
				end(c)
				c.wait()
				if d := time.Since(start); d >= 2*time.Second {
					t.Errorf("took %v", d)
				}
				if c.hub.Len() != 0 {
					t.Error("streams are left")
				}
				close(stall)
				synctest.Wait()
				if c.out.writes > 1 {
					t.Errorf("%d writes after leaving", c.out.writes)
				}
			})
		})
	}
}

func TestBrokenOutputActsLikeTheEndOfInput(t *testing.T) {
	other := errors.New("no space")
	for _, failure := range []error{syscall.EPIPE, &os.PathError{Op: "write", Path: "out", Err: syscall.EPIPE}, io.ErrClosedPipe, os.ErrClosed, other} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, nil, newFakeCatalogue())
			c.cat.block[a] = make(chan struct{})
			c.send(listenTo("1", onlyA), read("2", a))
			c.out.mu.Lock()
			c.out.err = failure
			c.out.mu.Unlock()
			c.send(read("3", b))
			if err := <-c.done; (failure == other) != (err != nil) || err != nil && !errors.Is(err, other) {
				t.Errorf("%v: returned %v", failure, err)
			}
			if c.hub.Len() != 0 || c.cat.busy() != 0 {
				t.Errorf("%d streams, %d reads are left", c.hub.Len(), c.cat.busy())
			}
			c.stop()
		})
	}
}

func TestInputErrorIsReturnedAfterTheAnswers(t *testing.T) {
	other := errors.New("input/output error")
	for _, failure := range []error{other, io.ErrClosedPipe, os.ErrClosed} {
		var out sink
		in := io.MultiReader(strings.NewReader(read("1", a)+"\n"), failingReader{failure})
		err := NewServer(newFakeCatalogue(), listen.NewHub(nil), nil).ServeStdio(t.Context(), in, &out)
		if (failure == other) != (err != nil) || err != nil && !errors.Is(err, other) {
			t.Errorf("%v: returned %v", failure, err)
		}
		if len(parseFrames(t, out.data)) != 1 {
			t.Errorf("wrote %q", out.data)
		}
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
