package transport

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
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

// A client that reads slowly but steadily gets everything it asked for, whatever its pace and however long that takes;
// also what had to wait for memory. At either pace one answer takes longer than any grace, and each read needs all of
// the memory. They are no larger than that asks for: the race detector looks at each byte of theirs a dozen times.
func TestSlowClientGetsAllAnswers(t *testing.T) {
	for name, end := range endings {
		for _, pause := range []time.Duration{100 * time.Millisecond, 1500 * time.Millisecond} {
			t.Run(fmt.Sprint(name, pause), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const n = 20
					c := connect(t, &Options{MaxReadMemory: 256 << 10}, withSlow(100_000, 0))
					c.send(listenTo(`"l"`, onlyA))
					c.frames()
					c.out.mu.Lock()
					c.out.pause = pause
					c.out.mu.Unlock()
					for i := range n {
						c.send(read(fmt.Sprint(i), other))
					}
					start := time.Now()
					end(c)
					c.wait()
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
}

// Work that is done call by call is waited for as long as calls are answered.
func TestSlowWorkIsAnsweredWhileItProgresses(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, &Options{MaxInFlight: 1}, withSlow(10, 600*time.Millisecond))
				for i := range 10 {
					c.send(read(fmt.Sprint(i), other))
				}
				start := time.Now()
				end(c)
				c.wait()
				if d := time.Since(start); d != 6*time.Second {
					t.Errorf("took %v", d)
				}
				for i, f := range c.frames() {
					if string(f.ID) != fmt.Sprint(i) || f.Result == nil {
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
		c := connect(t, nil, withSlow(900_000, 0))
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
			c := connect(t, nil, withSlow(900_000, 0))
			gate, stall := make(chan struct{}), make(chan struct{})
			c.cat.deaf = true
			if hung {
				c.cat.block[a] = gate
			}
			c.out.pause = 20 * time.Millisecond
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

func TestLargeFramesAreWrittenInPieces(t *testing.T) {
	serveWith(t, nil, func() *fakeCatalogue { return withSlow(1<<20, 0) }, func(t *testing.T, c *client) {
		c.ask(read("1", other))
		if c.out.largest > 64<<10 || c.out.writes > 18 {
			t.Errorf("%d writes, one of %d bytes", c.out.writes, c.out.largest)
		}
	})
}
