package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// A client asks alone, in bursts and in torn writes, cancels some of it and takes its time to read: every line is whole, each
// request has one answer, and what was cancelled before another request has none once that is answered. So it goes on to the end
// of input, which is in the middle of all this.
func TestPipeStorm(t *testing.T) {
	for range 4 {
		in, send := osPipe(t)
		receive, out := osPipe(t)
		s := NewServer(hesitant{newFakeCatalogue()}, listen.NewHub(nil), nil)
		served := make(chan error, 1)
		go func() { served <- s.ServeStdio(t.Context(), in, out) }()
		c := &pipeStorm{t: t, send: send, asked: map[string]*stormCall{}}
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			c.hear(receive)
		}()
		for range 100 {
			c.step()
		}
		send.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		out.Close()
		<-heard
		c.mu.Lock()
		for id, call := range c.asked {
			if call.answers != 1 && !call.cancelled {
				t.Errorf("%s has %d answers", id, call.answers)
			}
		}
		c.mu.Unlock()
	}
}

func osPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// hesitant is a catalogue in which some reads take longer than who has read a request may be held up.
type hesitant struct{ *fakeCatalogue }

func (h hesitant) Read(ctx context.Context, uri string, opts *mcp.ReadOptions) (mcp.Contents, error) {
	c, err := h.fakeCatalogue.Read(ctx, b, opts)
	c.URI = uri
	switch uri {
	case "test://top/slow":
		select {
		case <-time.After(time.Duration(rand.IntN(4)) * reliefTick):
		case <-ctx.Done():
			return mcp.Contents{}, ctx.Err()
		}
	case "test://top/large":
		c.Data = bytes.Repeat([]byte("large"), 1<<16) // more than a pipe holds
	}
	return c, err
}

// pipeStorm is a client that checks what it reads.
type pipeStorm struct {
	t    *testing.T
	send io.Writer

	mu    sync.Mutex // guards what follows
	asked map[string]*stormCall
}

type stormCall struct {
	answered          chan struct{} // closed with the first answer
	answers           int
	cancelled, silent bool
}

// request makes a request line.
func (c *pipeStorm) request() (id, line string, call *stormCall) {
	call = &stormCall{answered: make(chan struct{})}
	c.mu.Lock()
	id = strconv.Itoa(len(c.asked))
	c.asked[id] = call
	c.mu.Unlock()
	line = read(id, "test://top/"+[]string{"small", "slow", "large"}[rand.IntN(3)])
	if rand.IntN(4) == 0 {
		line = modern(id, "server/discover", "")
	}
	return id, line + "\n", call
}

func (c *pipeStorm) write(text string) {
	if _, err := io.WriteString(c.send, text); err != nil {
		c.t.Error(err)
	}
}

func (c *pipeStorm) step() {
	id, line, call := c.request()
	switch rand.IntN(4) {
	case 0: // alone
		c.write(line)
		<-call.answered
	case 1: // in a burst
		for range rand.IntN(20) {
			_, more, _ := c.request()
			line += more
		}
		c.write(line)
	case 2: // torn
		at := rand.IntN(len(line))
		c.write(line[:at])
		c.write(line[at:])
	case 3: // cancelled
		c.write(line)
		if rand.IntN(2) == 0 {
			<-time.After(time.Duration(rand.IntN(3)) * reliefTick) // until somebody else reads, at times
		}
		c.mu.Lock()
		call.cancelled = true
		c.mu.Unlock()
		_, next, later := c.request()
		c.write(cancel(id) + "\n" + next)
		<-later.answered
		c.mu.Lock()
		call.silent = true
		c.mu.Unlock()
	}
}

func (c *pipeStorm) hear(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 {
				c.t.Errorf("cut: %.200q", line)
			}
			return
		}
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Result == nil {
			c.t.Errorf("torn, or no result: %.200q", line)
			continue
		}
		c.mu.Lock()
		switch call := c.asked[string(m.ID)]; {
		case call == nil || call.answers > 0 || call.silent:
			c.t.Errorf("not asked for, or not any more: %.200q", line)
		default:
			call.answers++
			close(call.answered)
		}
		c.mu.Unlock()
		if strings.HasSuffix(string(m.ID), "7") {
			<-time.After(2 * reliefTick) // the output stalls
		}
	}
}
