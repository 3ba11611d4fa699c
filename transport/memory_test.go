package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

const control = "test://top/control"

// withControl serves a file of so many control characters, the worst there is to encode.
func withControl(size int) func() *fakeCatalogue {
	return func() *fakeCatalogue {
		cat := newFakeCatalogue()
		cat.contents[control] = mcp.Contents{MIMEType: "text/plain", Data: bytes.Repeat([]byte{1}, size), Text: true}
		cat.takes = 10 * time.Millisecond
		return cat
	}
}

// untouched fails unless all memory is free.
func (m *memory) untouched(t *testing.T) {
	t.Helper()
	if !m.free.TryAcquire(m.size) {
		t.Error("memory is not given back")
		return
	}
	m.free.Release(m.size)
}

func (f *inflight) held() (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.frame != nil {
			n += c.memory.held
		}
	}
	return n
}

func TestReadsKeepWithinTheBudget(t *testing.T) {
	const size, n = 80 << 10, 24
	opts := &Options{MaxReadMemory: 5 << 19} // 13 before it is known how long they are, then four, five once they are encoded
	serveWith(t, opts, withControl(size), func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(modern(`"first"`, "server/discover", ""))
		before := liveBytes()
		for i := range n {
			c.send(read(fmt.Sprint(i), control))
		}
		after(time.Minute)
		if grown := liveBytes() - before; grown > 5<<19+1<<20 {
			t.Errorf("%d bytes are taken", grown)
		}
		if c.cat.atOnce() > 13 {
			t.Errorf("%d reads at a time", c.cat.atOnce())
		}
		c.out.setStall(nil)
		close(stall)
		after(time.Minute)
		if got := c.frames(); len(got) != n+1 {
			t.Errorf("%d answers", len(got))
		}
	})
}

// A read that waits for memory keeps no other request waiting, not even a small read.
func TestReadsThatWaitForMemoryDelayNothing(t *testing.T) {
	serveWith(t, &Options{MaxReadMemory: 1 << 19, MaxInFlight: 2}, withControl(1<<17), func(t *testing.T, c *client) {
		c.cat.takes = time.Hour
		for i := range 9 {
			c.send(read(fmt.Sprint(i), control))
		}
		if c.cat.busy() != 9 || c.cat.atOnce() != 1 {
			t.Errorf("%d reads, %d with memory", c.cat.busy(), c.cat.atOnce())
		}
		c.send(read(`"too many wait"`, control), read(`"behind them"`, control))
		if c.cat.busy() != 9 {
			t.Errorf("%d reads", c.cat.busy())
		}
		c.nothing()
		c.send(modern(`"d"`, "server/discover", ""), modern(`"l"`, "resources/list", ""), listenTo(`"s"`, onlyA))
		if got := c.frames(); len(got) != 3 {
			t.Errorf("got %q", raws(got))
		}
		for i := range 9 {
			c.send(cancel(fmt.Sprint(i)))
		}
		c.send(cancel(`"too many wait"`), cancel(`"behind them"`))
		after(time.Hour)
		c.nothing()
		c.cat.takes = 0
		c.ask(read("1", control))
	})
	serveWith(t, &Options{MaxReadMemory: 1 << 19}, withControl(1<<17), func(t *testing.T, c *client) {
		c.cat.takes = time.Hour
		c.send(read("1", control), read("2", control))
		c.cat.takes = 0
		c.send(read("3", a))
		if f := c.only(); string(f.ID) != "3" {
			t.Errorf("got %.200s", f.raw)
		}
		c.send(cancel("1"), cancel("2"))
		after(time.Hour)
	})
}

// Whatever becomes of a read, its memory is given back.
func TestMemoryOfReadsIsGivenBack(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, p *pipe, abandon context.CancelCauseFunc){
		"written": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			p.receive([]byte(read("1", control)))
			p.receive([]byte(read("2", a)))
			p.turn(t)
		},
		"cancelled while it waits": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			p.receive([]byte(read("1", control)))
			p.receive([]byte(read("2", control)))
			synctest.Wait()
			p.receive([]byte(cancel("2")))
			p.turn(t)
		},
		"cancelled while it reads": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			p.receive([]byte(read("1", control)))
			synctest.Wait()
			p.receive([]byte(cancel("1")))
			after(time.Second)
		},
		"cancelled when answered": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			p.receive([]byte(read("1", control)))
			after(time.Second)
			if n := p.f.held(); n < 6<<17 || n > 6<<17+16<<10 { // no more than the frame
				t.Errorf("%d bytes are held", n)
			}
			p.receive([]byte(cancel("1")))
		},
		"in a batch": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			p.receive([]byte(initialize(`"i"`, mcp.Legacy20250326)))
			p.receiveBatch([]byte(batchOf("b", 5, control)))
			after(time.Second)
			p.turn(t)
		},
		"left behind": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			for i := range 5 {
				p.receive([]byte(read(fmt.Sprint(i), control)))
			}
			after(15 * time.Millisecond)
			p.flee(abandon, fleeGrace)
			after(time.Second)
		},
		"not written": func(t *testing.T, p *pipe, abandon context.CancelCauseFunc) {
			p.w.out = &sink{err: io.ErrClosedPipe}
			p.receive([]byte(read("1", control)))
			after(time.Second)
			if _, err := p.w.step(time.Now()); err == nil {
				t.Error("written")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(withControl(1<<17)(), listen.NewHub(nil), &Options{MaxReadMemory: 1 << 20})
				work, abandon := context.WithCancelCause(t.Context())
				defer abandon(nil)
				p := newPipe(s, work, io.Discard)
				test(t, p, abandon)
				after(time.Second)
				p.turnIfOpen(t)
				s.mem.untouched(t)
				if p.f.workers+p.f.parked != 0 {
					t.Errorf("%d workers, %d wait for memory", p.f.workers, p.f.parked)
				}
				p.silence()
			})
		})
	}
}

// turnIfOpen is turn, unless nothing is written any more.
func (p *pipe) turnIfOpen(t *testing.T) {
	if _, closed := p.w.out.(*sink); !closed && !p.w.last.Load() {
		p.turn(t)
	}
}

// Also what needs more than there is runs, alone, and so does what is asked for twice.
func TestLargeReadRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(8 << 20)
		h := share{of: m, wait: func(acquire func()) { acquire() }}
		for _, size := range []int64{1 << 40, 1<<63 - 1, 16 << 20, 100, 0, -1, 1 << 20} {
			if err := h.reserve(t.Context(), size); err != nil {
				t.Fatal(err)
			}
		}
		if h.held != 7<<20/3+perRead {
			t.Errorf("holds %d", h.held)
		}
		if h.suffices(1<<20, 2<<20) || h.reserve(t.Context(), 1<<20) != nil || h.held != 7<<20+perRead || !h.suffices(1<<20, 6<<20) {
			t.Errorf("holds %d for what takes more than is usual", h.held)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		other := share{of: m, wait: func(acquire func()) { acquire() }}
		if err := other.reserve(ctx, 16<<20); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		other.release()
		h.release()
		h.release()
		m.untouched(t)
	})
}

func TestLargeAnswersAreAllocatedOnce(t *testing.T) {
	for name, c := range map[string]mcp.Contents{
		"control characters": {Data: bytes.Repeat([]byte{1}, 1<<20), Text: true},
		"quotes":             {Data: bytes.Repeat([]byte(`"`), 1<<20), Text: true},
		"lines":              {Data: bytes.Repeat([]byte("a line\n"), 1<<18), Text: true},
		"blob":               {Data: make([]byte, 1<<20+1)},
	} {
		cat := newFakeCatalogue()
		cat.contents[control] = c
		p := &pipe{s: NewServer(cat, listen.NewHub(nil), nil)}
		m := p.parse([]byte(read("1", control)))
		r, err := p.s.route(&m.msg, origin{})
		if err != nil {
			t.Fatal(err)
		}
		frame, err := p.s.respond(t.Context(), &r, make([]byte, 0, 2<<10))
		// The allocator rounds up to a page.
		if err != nil || cap(frame) == len(frame) || cap(frame) > len(frame)+16<<10 {
			t.Errorf("%s: %d bytes for %d, %v", name, cap(frame), len(frame), err)
		}
		parseFrames(t, append(frame, '\n'))
	}
}

func TestEncodingHeedsItsContext(t *testing.T) {
	for _, text := range []bool{false, true} {
		c := mcp.Contents{Data: make([]byte, 4<<20), Text: text}
		_, err := appendContents(canceled(), nil, &c, 0, 0)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("text %v: %v", text, err)
		}
	}
}

// rereader is a catalogue that reads anew each time, and knows whether what it read before is still held.
type rereader struct {
	*fakeCatalogue
	last  weak.Pointer[byte]
	reads int
}

func (c *rereader) Read(ctx context.Context, uri string, opts *mcp.ReadOptions) (mcp.Contents, error) {
	found, err := c.fakeCatalogue.Read(ctx, uri, opts)
	if err == nil {
		found.Data = bytes.Clone(found.Data)
		c.last = weak.Make(&found.Data[0])
		c.reads++
	}
	return found, err
}

// A read that waits to be done again, with more memory, does not hold what it has read.
func TestReadsThatWaitHoldNothing(t *testing.T) {
	cat := &rereader{fakeCatalogue: withControl(1 << 20)()}
	cat.takes = 0
	s := NewServer(cat, listen.NewHub(nil), &Options{MaxReadMemory: 8 << 20})
	other := share{of: s.mem}
	if err := other.reserve(t.Context(), 1<<20); err != nil {
		t.Fatal(err)
	}
	m, failure := jsonrpc.Parse([]byte(read("1", control)))
	if failure != nil {
		t.Fatal(failure)
	}
	r, err := s.route(&m, origin{})
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	r.memory = &share{of: s.mem, wait: func(acquire func()) {
		waited++
		runtime.GC()
		if cat.last.Value() != nil || r.memory.held != 0 {
			t.Errorf("it holds %v and %d bytes of memory", cat.last.Value(), r.memory.held)
		}
		other.release()
		acquire()
	}}
	if _, err := s.respond(t.Context(), &r, nil); err != nil || waited != 1 || cat.reads != 2 {
		t.Errorf("it reads %d times and waits %d times: %v", cat.reads, waited, err)
	}
	r.memory.release()
	s.mem.untouched(t)
}
