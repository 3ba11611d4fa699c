package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// lateConn is a connection on which each answer, and each listen, has a way of its own that takes its own time. What comes
// of one request stays in order; what comes of several is told in any. Over HTTP the requests have ways too.
type lateConn struct {
	wire.Conn
	http    bool
	silent  bool // on a pipe the server takes back what it has yet to say of what is cancelled
	receive func(wire.Event)
	in, out time.Duration // at most

	mu      sync.Mutex // guards the fields below, and is held by whoever calls receive
	random  *rand.Rand
	ways    map[string]*way
	pending sync.WaitGroup
}

// way is that of what comes of one request.
type way struct {
	takes time.Duration
	due   time.Time // of what comes last
	cut   bool
}

// late makes connections to a fake late.
func (f *fake) late(random *rand.Rand, in, out time.Duration) func(context.Context, wire.Target, func(wire.Event)) (wire.Conn, error) {
	return func(ctx context.Context, to wire.Target, receive func(wire.Event)) (wire.Conn, error) {
		c := &lateConn{http: f.http, silent: f.fault == "", receive: receive, in: in, out: out, random: rand.New(rand.NewPCG(random.Uint64(), 1)), ways: map[string]*way{}}
		inner, err := f.dial(ctx, to, c.take)
		c.Conn = inner
		return c, err
	}
}

func (c *lateConn) way(id json.RawMessage) *way {
	w := c.ways[string(id)]
	if w == nil {
		w = &way{takes: c.upTo(c.out)}
		c.ways[string(id)] = w
	}
	return w
}

func (c *lateConn) upTo(most time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(most) + 1))
}

// take sends an event on its way.
func (c *lateConn) take(e wire.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := e.Request
	if e.Message != nil && id == nil {
		if id = e.Message.ID; id == nil {
			id = read(e.Message).tag
		}
	}
	w := c.way(id)
	due := time.Now().Add(w.takes + c.upTo(c.out/10))
	if id == nil { // the end
		for _, o := range c.ways {
			due = lastOf(due, o.due)
		}
	}
	w.due = lastOf(due, w.due.Add(1))
	c.pending.Add(1)
	time.AfterFunc(time.Until(w.due), func() {
		defer c.pending.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		if e.At = time.Now(); !w.cut {
			c.receive(e)
		}
	})
}

func lastOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// onItsWay does something at once on a pipe, and over HTTP when what is sent has arrived.
func (c *lateConn) onItsWay(do func()) {
	if !c.http {
		do()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Add(1)
	time.AfterFunc(c.upTo(c.in), func() {
		defer c.pending.Done()
		do()
	})
}

func (c *lateConn) Send(ctx context.Context, message []byte) error {
	c.onItsWay(func() { _ = c.Conn.Send(ctx, message) })
	return nil
}

func (c *lateConn) Cancel(ctx context.Context, id json.RawMessage) error {
	c.onItsWay(func() { _ = c.Conn.Cancel(ctx, id) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.way(id).cut = c.http || c.silent
	return nil
}

func (c *lateConn) Close(ctx context.Context) error {
	if c.http {
		c.mu.Lock()
		for _, w := range c.ways {
			w.cut = true
		}
		c.mu.Unlock()
		c.pending.Wait()
	}
	err := c.Conn.Close(ctx)
	c.pending.Wait()
	return err
}

// live has things happen on a fake at random times until ctx ends: changes that show, some that do not, and new resources.
func (f *fake) live(ctx context.Context, random *rand.Rand) {
	often := []time.Duration{300 * time.Millisecond, 2 * time.Second, 10 * time.Second}[random.IntN(3)]
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(random.ExpFloat64()*float64(often)))
		switch random.IntN(6) {
		case 0:
			_ = f.Put(fmt.Sprintf("new-%d.txt", n), "new")
		case 1, 2:
			_ = f.Put("a.txt", fmt.Sprint("a", n))
		default:
			f.mu.Lock()
			for c := range f.conns {
				c.tell(Subject{Method: updated, URI: "test://b.txt"})
			}
			f.mu.Unlock()
		}
	}
}

// TestLateServerBreaksNoRule: what travels on different ways arrives in any order, which is nobody's fault.
func TestLateServerBreaksNoRule(t *testing.T) {
	seeds := uint64(16)
	if testing.Short() {
		seeds = 3
	}
	kept := map[string]bool{}
	for seed := range seeds {
		for _, http := range []bool{false, true} {
			for _, world := range []bool{false, true} {
				for _, f := range judgeLate(t, seed, http, world, "") {
					if f.Outcome == Fail {
						t.Errorf("seed %d, HTTP %v, world %v: %s: %s", seed, http, world, f.Name, f.Detail)
					}
					kept[f.Name] = kept[f.Name] || f.Outcome == OK
				}
			}
		}
	}
	for rule, ok := range kept {
		if !ok && rule != "stalled" {
			t.Errorf("%s was never put to the test", rule)
		}
	}
}

// TestLateServerIsNotBelieved: what a late server does wrong is found, or not judged.
func TestLateServerIsNotBelieved(t *testing.T) {
	for seed := range uint64(1) {
		for _, c := range []struct{ fault, rule string }{
			{"second silences first", "two-listens"}, {"fifty are too many", "fifty-told"}, {"cancel ends all", "cancel-others"},
			{"talks on", "cancel-silent"}, {"answers after cancel", "cancel-unanswered"}, {"untagged", "untagged"},
		} {
			for _, world := range []bool{false, true} {
				for _, f := range judgeLate(t, seed, false, world, c.fault) {
					if f.Name == c.rule && (f.Outcome == OK || f.Outcome == Skip && world) {
						t.Errorf("seed %d, world %v: %s: %s is %v", seed, world, c.fault, f.Name, f.Outcome)
					}
				}
			}
		}
	}
}

func judgeLate(t *testing.T, seed uint64, http, world bool, fault string) (found []Finding) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 1))
		f := newFake(http, fault)
		longest := []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}[seed%3]
		opts := &Options{dial: f.late(random, longest/2, longest), baggage: 10, Bound: time.Hour}
		ctx, stop := context.WithCancel(t.Context())
		var living sync.WaitGroup
		if world {
			opts.World = f
		} else {
			living.Go(func() { f.live(ctx, rand.New(rand.NewPCG(seed, 2))) })
		}
		var err error
		if found, err = Run(t.Context(), targetOf(f), opts); err != nil {
			t.Errorf("seed %d, HTTP %v, world %v: %v", seed, http, world, err)
		}
		stop()
		living.Wait()
		synctest.Wait()
	})
	return found
}
