package transport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// A client opens and cancels listens at random while the library answers and talks in torn writes from several goroutines
// and changes are published: every line is whole, every subscription begins with its acknowledgement, and what was cancelled
// before a request is silent once that is answered.
func TestInterceptedStorm(t *testing.T) {
	i, hub := interceptorOf(top{})
	in, send := io.Pipe()
	receive, out := io.Pipe()
	x := i.Stdio(in, out)
	var all sync.WaitGroup
	var writing sync.Mutex // the library's own, so that its pieces do not mix
	stop := make(chan struct{})
	library := make(chan struct{})
	go func() { // the library
		defer close(library)
		for lines := bufio.NewScanner(x.Reader()); lines.Scan(); {
			var m struct{ ID json.RawMessage }
			if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil {
				writing.Lock()
				_, _ = io.WriteString(x.Writer(), answered1(string(m.ID))+"\n")
				writing.Unlock()
			}
		}
	}()
	for range 2 {
		all.Go(func() {
			for {
				hub.Publish(listen.Change{Keys: []string{a}, List: true})
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	all.Go(func() { // one that tears its lines
		for n := 0; ; n++ {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d,"x":"%s"}}`+"\n", n, strings.Repeat("z", n%300))
			if n%50 == 0 {
				line += untagged[0] + "\n"
			}
			writing.Lock()
			for piece := range slices.Chunk([]byte(line), len(line)/3) {
				_, _ = x.Writer().Write(piece)
			}
			writing.Unlock()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	storm := newClientStorm(t, send)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		lines := bufio.NewScanner(receive)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			storm.take(lines.Bytes())
		}
	}()
	storm.play(150)
	close(stop)
	all.Wait()
	send.Close()
	<-library
	if err := x.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	out.Close()
	<-finished
	storm.mu.Lock()
	defer storm.mu.Unlock()
	for id, s := range storm.subs {
		if !s.cancelled && !s.completed {
			t.Errorf("listen %s was not completed", id)
		}
	}
	if n := hub.Len(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

// clientStorm is a client that checks what it reads.
type clientStorm struct {
	t    *testing.T
	send io.Writer

	mu       sync.Mutex
	subs     map[string]*stormSub
	answered map[string]chan struct{}
}

type stormSub struct{ acknowledged, cancelled, silent, completed bool }

func newClientStorm(t *testing.T, send io.Writer) *clientStorm {
	return &clientStorm{t: t, send: send, subs: map[string]*stormSub{}, answered: map[string]chan struct{}{}}
}

func (c *clientStorm) play(rounds int) {
	var open []string
	for n := range rounds {
		id := fmt.Sprintf(`"l%d"`, n)
		c.mu.Lock()
		c.subs[id] = &stormSub{}
		c.mu.Unlock()
		lines := listenTo(id, onlyA+`,"resourcesListChanged":true`) + "\n"
		open = append(open, id)
		var cancelled []string
		for len(open) > 20 || len(open) > 0 && rand.IntN(2) == 0 {
			at := rand.IntN(len(open))
			cancelled = append(cancelled, open[at])
			lines += cancel(open[at]) + "\n"
			open = append(open[:at], open[at+1:]...)
		}
		done := make(chan struct{})
		c.mu.Lock()
		c.answered[fmt.Sprint(n)] = done
		for _, id := range cancelled {
			c.subs[id].cancelled = true
		}
		c.mu.Unlock()
		_, _ = io.WriteString(c.send, lines+modern(fmt.Sprint(n), "x", "")+"\n")
		<-done
		c.mu.Lock()
		for _, id := range cancelled {
			c.subs[id].silent = true
		}
		c.mu.Unlock()
	}
}

func (c *clientStorm) take(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		c.t.Errorf("torn: %.200q", line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch sub := c.subs[string(m.Params.Meta["io.modelcontextprotocol/subscriptionId"])]; {
	case m.Method == "notifications/message":
	case m.Method == "":
		c.answer(string(m.ID))
	case sub == nil:
		c.t.Errorf("for no subscription: %s", line)
	case sub.silent || sub.completed:
		c.t.Errorf("after its end: %s", line)
	case m.Method == "notifications/subscriptions/acknowledged":
		sub.acknowledged = true
	case !sub.acknowledged:
		c.t.Errorf("before its acknowledgement: %s", line)
	}
}

func (c *clientStorm) answer(id string) {
	if sub := c.subs[id]; sub != nil {
		sub.completed = true
		return
	}
	close(c.answered[id])
}
