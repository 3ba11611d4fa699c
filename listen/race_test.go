package listen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// client is a carrier with a goroutine of its own, which notes when each thing was last said.
type client struct {
	clock *atomic.Int64
	woken chan struct{}
	asked []string

	opened    int64            // the clock when Open returned
	said      map[string]int64 // the clock before the pull that said it
	named     map[string]int64 // the same of a key named for a URI, joined by a space
	messages  int              // how many were said
	cancelled atomic.Bool
	handled   bool        // a handler answers it
	ended     atomic.Bool // and has returned
}

func (c *client) Wake(*listen.Stream) {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// run pulls until s is over. It returns what is wrong.
func (c *client) run(s *listen.Stream, cancelAfter int) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var buf []byte
	for {
		now := c.clock.Add(1)
		frame, wait := s.Next(buf[:0], time.Now())
		switch {
		case wait == listen.Over:
			return nil
		case frame != nil:
			buf = frame
			var m message
			if err := json.Unmarshal(frame, &m); err != nil {
				return err
			}
			if (c.messages == 0) != (m.said() == "ack") {
				return fmt.Errorf("message %d is %s", c.messages, frame)
			}
			if got := string(m.Params.Meta[subscriptionID]); m.Result == nil && got != string(s.ID()) {
				return fmt.Errorf("stream %s says %s", s.ID(), frame)
			}
			c.messages++
			c.said[m.said()] = now
			if err := c.name(m, now); err != nil {
				return err
			}
			if c.messages == cancelAfter {
				s.Cancel()
				c.cancelled.Store(true)
			}
			continue
		case wait > 0:
			timer.Reset(wait)
		}
		select {
		case <-c.woken:
		case <-timer.C:
		case <-s.Done():
		}
	}
}

// name notes what a message names, for each URI.
func (c *client) name(m message, now int64) error {
	keys, err := m.named()
	if err != nil {
		return err
	}
	for i, key := range keys {
		if !beneath(m.said(), key) {
			return fmt.Errorf("%s names %s", m.said(), key)
		}
		if slices.Contains(keys[:i], key) {
			return fmt.Errorf("%s names %s twice in %q", m.said(), key, keys)
		}
		c.named[m.said()+" "+key] = now
	}
	return nil
}

// TestLastNotificationFollowsTheLastPublish has many publishers, openers and cancellers at once. When all is quiet,
// each stream that lives has said each of its URIs after the last Publish for it began, and named what was beneath.
func TestLastNotificationFollowsTheLastPublish(t *testing.T) {
	for _, seed := range seeds(3) {
		synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		if t.Failed() {
			t.Fatalf("again with -seed %d", seed)
		}
	}
}

// openHandled opens a listen with a handler that has the source tell of half, and tells of the other half whenever it
// says anything else. It returns once that is owed.
func (c *client) openHandled(t *testing.T, h *listen.Hub, id []byte, seed int64) (*listen.Stream, error) {
	acknowledged := make(chan struct{})
	service := &listen.Service{Hub: h, Source: listen.URISource{}, Handler: listen.HandlerFunc(
		func(ctx context.Context, req *listen.Request, p *listen.Pending) error {
			defer c.ended.Store(true)
			if _, err := p.Builtin(ctx, req.Filter); err != nil {
				return err
			}
			s, err := p.Acknowledge(req.Filter)
			close(acknowledged)
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			for n := 0; err == nil; n++ {
				uri := req.Filter.ResourceSubscriptions[r.IntN(len(req.Filter.ResourceSubscriptions))]
				if err = s.Updated(uri); err == nil {
					err = s.Notify(ctx, "ext/x", nil)
				}
				time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
			}
			return err
		})}
	params, err := json.Marshal(map[string]any{"notifications": uris(c.asked...)})
	if err != nil {
		return nil, err
	}
	c.handled = true
	s, err := service.Open(t.Context(), id, params, c)
	if err == nil {
		<-acknowledged
	}
	return s, err
}

// storm draws its lots from seed; how its goroutines interleave is the scheduler's.
func storm(t *testing.T, seed uint64) {
	const publishers, openers, streamsEach, changesEach = 4, 4, 25, 200
	var (
		clock     atomic.Int64
		mu        sync.Mutex
		published = map[string]int64{} // when the last Publish of a key began
		clients   []*client
		work      sync.WaitGroup
		pullers   sync.WaitGroup
	)
	h := listen.NewHub(&listen.Options{ChangedMeta: changedMeta})
	for p := range publishers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			for range changesEach {
				keys := []string{modelKeys[r.IntN(len(modelKeys))], modelKeys[r.IntN(len(modelKeys))]}
				mu.Lock()
				for _, key := range keys {
					published[key] = clock.Add(1)
				}
				mu.Unlock()
				h.Publish(listen.Change{Keys: keys, List: p == 0})
				if r.IntN(10) == 0 {
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond) // the bubble's time
				}
			}
		})
	}
	for o := range openers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(publishers+o)))
			for i := range streamsEach {
				c := &client{clock: &clock, woken: make(chan struct{}, 1), said: map[string]int64{}, named: map[string]int64{}}
				var subs []listen.Sub
				for range 1 + r.IntN(4) {
					key := modelKeys[r.IntN(len(modelKeys))]
					subs = append(subs, listen.Sub{Key: key, URI: key})
					c.asked = append(c.asked, key)
				}
				id := fmt.Appendf(nil, "%d", o*streamsEach+i)
				var s *listen.Stream
				var err error
				if i%2 == 0 {
					s, err = c.openHandled(t, h, id, r.Int64())
				} else {
					s, err = h.Open(id, uris(c.asked...), subs, c, nil)
				}
				if err != nil {
					t.Error(err)
					return
				}
				c.opened = clock.Add(1)
				mu.Lock()
				clients = append(clients, c)
				mu.Unlock()
				cancelAfter := r.IntN(12) - 4
				pullers.Go(func() {
					if err := c.run(s, cancelAfter); err != nil {
						t.Error(err)
					}
				})
				if r.IntN(8) == 0 {
					pullers.Go(s.Cancel)
					c.cancelled.Store(true)
				}
				time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
			}
		})
	}
	work.Wait()
	time.Sleep(time.Second)
	synctest.Wait()
	for _, c := range clients {
		c.check(t, published)
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	pullers.Wait()
	for _, c := range clients {
		if _, completed := c.said["result"]; !completed && !c.cancelled.Load() {
			t.Errorf("a stream ended without its result: said %v", c.said)
		}
		if c.handled != c.ended.Load() {
			t.Error("Shutdown has not waited for a handler")
		}
	}
}

func (c *client) check(t *testing.T, published map[string]int64) {
	asked := map[string]bool{"ack": true, "ext/x": c.handled}
	for _, uri := range c.asked {
		asked[uri] = true
		for key, at := range published {
			if (key == uri || strings.HasPrefix(key, uri+"/")) && !c.cancelled.Load() && at > c.opened && c.said[uri] < at {
				t.Errorf("%s changed at %d, the stream opened at %d has said %s at %d", key, at, c.opened, uri, c.said[uri])
			}
			if beneath(uri, key) && !c.handled && !c.cancelled.Load() && at > c.opened && c.named[uri+" "+key] < at {
				t.Errorf("%s changed at %d, the stream opened at %d has named it for %s at %d", key, at, c.opened, uri, c.named[uri+" "+key])
			}
		}
	}
	for what := range c.said {
		if !asked[what] {
			t.Errorf("said %s, asked for %q", what, c.asked)
		}
	}
}
