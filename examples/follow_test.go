package examples

import (
	"context"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/client"
	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
)

// TestFollow: the client of this project goes on to hear of changes when its filter has changed, also from the libraries
// themselves, though a cancel ends all listens of a pipe in one of them. mcp-go acknowledges resources over HTTP and never
// tells of them: nobody could find that out.
func TestFollow(t *testing.T) {
	for _, c := range []struct{ server, carrier, own string }{
		{"go-sdk", "pipe", "--bare"},
		{"go-sdk", "http", "--bare"},
		{"mcp-go", "pipe", "--bare"},
		{"go-sdk", "pipe", ""},
		{"mcp-go", "http", ""},
	} {
		t.Run(c.server+"/"+c.carrier+c.own, func(t *testing.T) {
			t.Parallel()
			args := []string{"--interval", "50ms"}
			if c.own != "" {
				args = append(args, c.own)
			}
			target := client.Command(program(c.server), args...)
			if c.carrier == "http" {
				target = client.URL(overHTTP(t, c.server, args...))
			}
			checkFollow(t, target)
		})
	}
}

func checkFollow(t *testing.T, target client.Target) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := client.New(target, client.Want{URIs: []string{queue.Clock, queue.Jobs}}, &client.Options{Grace: 200 * time.Millisecond})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- c.Run(running) }()
	next := func() client.Event {
		e, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for next().Kind != client.Live {
	}
	if err := c.Set(client.Want{URIs: []string{queue.Clock}}); err != nil {
		t.Fatal(err)
	}
	for e := next(); e.Kind != client.Live || e.Sets != 1; e = next() {
	}
	for lost := false; !lost && c.Status().Listens != 1; { // until the listen before is cancelled
		lost = next().Kind == client.Lost
	}
	for n := 0; n < 20; { // what was owed before is told in a few of them
		if e := next(); e.Kind == client.Updated && e.URI == queue.Clock {
			n++
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
