package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// Client keeps a subscription to one server. Make one with [New], and let [Client.Run] run.
type Client struct {
	target Target
	opts   Options
	dial   func(context.Context, wire.Target, func(wire.Event)) (wire.Conn, error)
	random func(n int64) int64 // in [0, n)

	queue *queue
	view  *view
	cache *cache

	asks  chan *ask     // rendezvous of Read and List with the session; closed by nobody
	reset chan struct{} // 1-buffered, never closed: want is another

	mu     sync.Mutex // guards what follows
	want   Want
	fault  error // what is wrong with the first want
	ran    bool
	turn   int // counts how often want was set
	status Status

	lent      lent  // owned by the session
	lastID    int64 // of requests; owned by the session
	known     bool  // Live was told once; owned by the session
	listKnown bool  // view has the list that was told; owned by the session

	lostByRead       bool // a connection was, since it did not read a resource; owned by the session
	answersCancelled bool // the server does, which it must not, so that no listen is cancelled; owned by the session
}

// Status is how things stand with the server.
type Status struct {
	Live     bool     // what is wanted is followed and known, as [Live] tells; not since [Client.Set], until that is in force
	Revision string   // of the protocol that is spoken; empty while there is no connection
	Server   string   // its name and version, as it says; empty if it does not
	Listens  int      // how many listens are open or asked for
	Polled   []string // followed URIs whose changes the server does not announce, sorted
	// PolledLists names the lists whose changes are wanted and not announced: "resources", "tools", "prompts".
	PolledLists []string
	// Unhonoured names the members of a filter that are wanted and that the server does not honour, sorted: extensions, and
	// lists, as in "toolsListChanged". Of URIs Polled tells.
	Unhonoured []string
}

// New makes a client that follows want at t. It neither connects nor checks anything: Run does.
func New(t Target, want Want, opts *Options) *Client {
	o := opts.withDefaults(t.URL != "")
	c := &Client{
		target: t, opts: o, dial: wire.Dial, random: rand.Int64N,
		queue: newQueue(o.MaxNotifications), view: newView(), cache: newCache(o.CacheBytes), lent: newLent(),
		asks: make(chan *ask), reset: make(chan struct{}, 1),
	}
	c.want, c.fault = want.check()
	return c
}

// Run follows the server until ctx ends, which is no error. The error says what is wrong with the target or the [Want],
// such as neither a command nor a URL, or is that of the last connection if [Options.Retry] said to give up. A server that
// cannot be had, a command that does not exist included, is tried again otherwise: [Lost] tells why. It may be called once.
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	fault, ran := c.fault, c.ran
	c.ran = true
	c.mu.Unlock()
	if ran {
		return fmt.Errorf("run: %w", ErrStopped)
	}
	defer c.queue.close()
	if fault != nil {
		return fault
	}
	target := c.target.wire()
	if err := target.Check(); err != nil {
		return err
	}
	return c.supervise(ctx)
}

// supervise connects again and again.
func (c *Client) supervise(ctx context.Context) error {
	for attempts := 1; ; attempts++ {
		s := newSession(c)
		loss := s.run(ctx)
		if ctx.Err() != nil {
			s.close()
			return nil
		}
		if !s.liveSince.IsZero() && time.Since(s.liveSince) >= c.opts.Backoff.Reset {
			attempts = 1
		}
		again := c.opts.Retry == nil || c.opts.Retry(loss, attempts)
		wait := c.opts.Backoff.before(attempts, c.random)
		if asked := time.Until(s.notBefore); asked > wait { // not all who were told so at the same moment
			wait = asked + time.Duration(c.random(int64(asked/10)+1))
		}
		c.cache.clear()
		c.setStatus(func(st *Status) { *st = Status{} })
		if again {
			c.queue.lost(Event{Kind: Lost, Err: loss, Graceful: s.graceful, Attempts: attempts, Retry: wait})
		}
		s.close()
		if !again {
			return loss
		}
		if !rest(ctx, wait) {
			return nil
		}
	}
}

// Set changes what is followed. What is no longer wanted is not told any more; [Live] is told when all of w is followed.
// An earlier Live that Next has not handed out is dropped. The error says what is wrong with w, which then changes
// nothing.
func (c *Client) Set(w Want) error {
	w, err := w.check()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want, c.fault = w, nil
	c.turn++
	c.status.Live = false
	c.queue.unlive()
	c.queue.refuse(w.unwanted())
	select {
	case c.reset <- struct{}{}:
	default:
	}
	return nil
}

// wanted is what is to be followed now, and which turn that is.
func (c *Client) wanted() (Want, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want, c.turn
}

// tellLive owes Live, unless want was set since the given turn.
func (c *Client) tellLive(e Event, turn int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if turn != c.turn {
		return false
	}
	c.status.Live = true // before whoever is told looks
	c.queue.live(e)
	return true
}

// Next waits for something to tell. When Run has returned, and all is handed out, the error is [ErrStopped].
func (c *Client) Next(ctx context.Context) (Event, error) {
	e, err := c.queue.next(ctx)
	if err == nil {
		c.view.fill(&e)
	}
	return e, err
}

// Resources are the entries of the list in its order, as last walked, if [Want.List] says so, but for those that are still to be
// told as [Added]. A URI above 64 KiB, which no listen could name, is left out. The slice is the caller's.
func (c *Client) Resources() []Resource { return c.view.resources() }

// Contents is what a followed resource held when it was last read, if [Want.Read] says so. The error is why it could not
// be read, such as an [*Error] of the server, or [ErrNotRead].
func (c *Client) Contents(uri string) ([]Content, error) {
	if s := c.view.snapshot(uri); s != nil {
		return s.contents, s.err
	}
	return nil, ErrNotRead
}

// Read asks the server for what a resource holds, or answers what it answered before while the ttlMs of that lasts and no
// change was announced (server/utilities/caching). While there is no connection it waits for one.
func (c *Client) Read(ctx context.Context, uri string) ([]Content, error) {
	c.queue.shown(uri)
	if contents, ok := c.cache.read(uri); ok {
		return contents, nil
	}
	a := &ask{ctx: ctx, uri: uri, done: make(chan struct{})}
	if err := c.await(ctx, a); err != nil {
		return nil, err
	}
	return a.contents, a.err
}

// List walks the list of resources, whatever is wanted, or answers what a walk found before, as Read does.
func (c *Client) List(ctx context.Context) ([]Resource, error) {
	if list, ok := c.cache.listing(c.view.look); ok {
		return valuesOf(list), nil
	}
	a := &ask{ctx: ctx, list: true, done: make(chan struct{})}
	if err := c.await(ctx, a); err != nil {
		return nil, err
	}
	return valuesOf(a.resources), a.err
}

// Status says how things stand.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Polled, s.PolledLists, s.Unhonoured = slices.Clone(s.Polled), slices.Clone(s.PolledLists), slices.Clone(s.Unhonoured)
	return s
}

func (c *Client) setStatus(change func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
}
