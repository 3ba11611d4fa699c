package resources

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestWaitersRest: Load wakes a waiter no more often than it can be of use, and at its end at once.
func TestWaitersRest(t *testing.T) {
	p := serve(t)
	for i := range 500 {
		p.make(fmt.Sprintf("d%03d/", i))
	}
	calls, asked := 0, make(chan struct{}, 1)
	start := time.Now()
	done := make(chan time.Duration)
	go func() {
		p.await(context.Background(), func() bool {
			calls++
			select {
			case asked <- struct{}{}:
			default:
			}
			return p.tree.loaded && p.tree.dirs.at(499).loaded
		})
		done <- time.Since(start)
	}()
	<-asked
	p.load()
	if took := <-done; calls > 3+int(took/(2*time.Millisecond)) {
		t.Errorf("looked %d times in %v", calls, took)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	p := serve(t, "d/a")
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan struct{}, 1)
	done := make(chan error)
	go func() {
		done <- p.await(ctx, func() bool {
			select {
			case asked <- struct{}{}:
			default:
			}
			return false
		})
	}()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCollectorGoesOn: what was collected before a directory that is not known yet is not collected again.
func TestCollectorGoesOn(t *testing.T) {
	p := serve(t, "a", "d/b", "d/e/c", "f/g", "h/i")
	learn := func(rel string) {
		d, _ := p.tree.descend(rel)
		var l listing
		l.entries, l.in, l.err = p.scan(rel, d.in)
		p.learn(d, rel, l)
	}
	c := collector{left: 10, after: "d/a"}
	for _, step := range []struct {
		learn, after string
		items        int
	}{{"", "d/a", 0}, {"d", "d/e/", 1}, {"d/e", "f/", 2}, {"f", "h/", 3}, {"h", "", 4}} {
		learn(step.learn)
		c.blocked = false
		after := c.after
		c.walk(p.tree, "", after)
		if !c.blocked {
			c.after = ""
		}
		if c.after != step.after || 10-c.left != step.items {
			t.Errorf("after %q: goes on at %q, want %q; %d items, want %d", step.learn, c.after, step.after, 10-c.left, step.items)
		}
	}
}
