package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// probe asks a server, and records what comes of it.
type probe struct {
	target wire.Target
	dial   func(context.Context, wire.Target, func(wire.Event)) (wire.Conn, error)
	load   int // how many URIs a listen has that is to stall the server
	world  World
	client mcp.Implementation
	wait   time.Duration // for what the server says by itself
	bound  time.Duration
	room   int // bytes that the recording may take
	full   context.CancelFunc
	trace  func(Entry)

	unlisted func() // tells that the server does not list what was made in world

	// Of the goroutine of run.
	links  []*link
	lastID int
	uris   []string // some that the server lists
	first  *thing   // what the probe changes, nil if the server does not show it
	second *thing
	heard  map[string]bool // by method, of what had happened: whether anybody was ever told
	talks  bool            // the server says something by itself
	quiet  bool            // it does not

	mu      sync.Mutex // guards the fields below
	taken   int        // bytes of room
	rec     *Recording
	view    *view
	changed chan struct{} // closed, and made anew, when an entry is added
}

func newProbe(t wire.Target, opts *Options) *probe {
	if opts == nil {
		opts = &Options{}
	}
	p := &probe{
		target: t, dial: opts.dial, world: opts.World, client: opts.Client, trace: opts.Trace,
		wait: cmp.Or(opts.Wait, 10*time.Second), bound: cmp.Or(opts.Bound, 2*time.Minute),
		rec:     &Recording{HTTP: t.URL != "", Patience: cmp.Or(opts.Patience, 10*time.Second)},
		load:    cmp.Or(opts.baggage, 8000),
		room:    cmp.Or(opts.room, maxRecording),
		changed: make(chan struct{}), heard: map[string]bool{},
	}
	if p.unlisted = opts.Unlisted; p.unlisted == nil {
		p.unlisted = func() {}
	}
	if p.dial == nil {
		p.dial = wire.Dial
	}
	if p.client.Name == "" {
		p.client = mcp.Implementation{Name: "mcp-fsserve-verify", Version: "devel"}
	}
	p.target.Leave = max(p.rec.Patience, leaveWithin)
	p.view = newView(p.rec)
	return p
}

// add writes down an entry, and returns its place.
func (p *probe) add(e Entry) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.At.IsZero() {
		e.At = time.Now()
	}
	p.rec.Entries = append(p.rec.Entries, e)
	p.view.add(len(p.rec.Entries) - 1)
	close(p.changed)
	p.changed = make(chan struct{})
	if p.trace != nil {
		p.trace(e)
	}
	return len(p.rec.Entries) - 1
}

// leaveWithin is how long a command may take to leave at least, however little patience there is.
const leaveWithin = 5 * time.Second

// maxRecording is how many bytes the recording may take, and entryBytes what an entry takes besides its message.
const (
	maxRecording = 512 << 20
	entryBytes   = 512
)

// fits takes the room for what has come. Once there is none the test is given up, and nothing more is recorded.
func (p *probe) fits(e *Entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isFullLocked() {
		return false
	}
	p.taken += entryBytes
	if e.Message != nil {
		p.taken += len(e.Message.Raw)
	}
	if p.isFullLocked() {
		p.full()
		return false
	}
	return true
}

func (p *probe) isFullLocked() bool { return p.taken > p.room }

// until waits until holds says so of what is recorded, for so long at most. holds is called with the lock held.
func (p *probe) until(ctx context.Context, most time.Duration, holds func(*view) bool) bool {
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		p.mu.Lock()
		met, changed := holds(p.view), p.changed
		p.mu.Unlock()
		if met {
			return true
		}
		select {
		case <-changed:
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// pause lets a while pass in which something may come that must not.
func pause(ctx context.Context, d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}

// link is a connection.
type link struct {
	probe  *probe
	number int
	conn   wire.Conn
	sick   bool // something was waited for in vain
	gone   bool // closed
}

// connect makes a connection, over HTTP through a client of its own if there is one.
func (p *probe) connect(ctx context.Context, client *http.Client) (*link, error) {
	l := &link{probe: p, number: len(p.links) + 1}
	to := p.target
	if client != nil {
		to.Client = client
	}
	conn, err := p.dial(ctx, to, l.take)
	if err != nil {
		return nil, err
	}
	l.conn = conn
	p.links = append(p.links, l)
	return l, nil
}

func (l *link) take(e wire.Event) {
	entry := Entry{At: e.At, Conn: l.number, Request: e.Request, Message: e.Message, Err: e.Err}
	switch {
	case e.Message != nil:
		entry.Kind = Received
	case e.End:
		entry.Kind = Ended
	case e.Err != nil:
		entry.Kind = Broken
	default:
		return // a sign of life
	}
	if l.probe.fits(&entry) {
		l.probe.add(entry)
	}
}

// unfit reports whether a connection is of no use any more.
func (l *link) unfit() bool {
	if l.sick || l.gone {
		return true
	}
	l.probe.mu.Lock()
	defer l.probe.mu.Unlock()
	_, left := l.probe.view.left[l.number]
	return left
}

// newID gives out an id that no request has yet, and that is none of those that are put to the test.
func (p *probe) newID() json.RawMessage {
	p.lastID++
	return fmt.Appendf(nil, "%d", 100+p.lastID)
}

// send sends a request. It is recorded before, so that what comes of it is behind it.
func (l *link) send(ctx context.Context, id json.RawMessage, method string, params map[string]any, part Part) {
	all := map[string]any{"_meta": map[string]any{
		mcp.MetaProtocolVersion: mcp.Modern, mcp.MetaClientInfo: l.probe.client, mcp.MetaClientCapabilities: struct{}{},
	}}
	for name, value := range params {
		all[name] = value
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		panic("what the probe asks is no JSON: " + err.Error())
	}
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, encoded)
	l.probe.add(Entry{Conn: l.number, Kind: Sent, Part: part, ID: id,
		Message: &wire.Message{Raw: raw, ID: id, Method: method, Params: encoded}})
	ctx, stop := context.WithTimeout(ctx, l.probe.rec.Patience)
	defer stop()
	_ = l.conn.Send(ctx, raw) // what has failed has no answer, and that shows
}

// ask sends a request and waits for its answer, nil if there was none, or it was too long to be taken.
func (l *link) ask(ctx context.Context, method string, params map[string]any, part Part) (answer *wire.Message) {
	id := l.probe.newID()
	l.send(ctx, id, method, params, part)
	k, long := keyOf(l.number, id), false
	l.probe.until(ctx, l.probe.rec.Patience, func(v *view) bool {
		r := v.byKey[k]
		long = r.long >= 0
		if len(r.answers) > 0 {
			answer = v.rec.Entries[r.answers[0]].Message
			return true
		}
		return long || v.isLost(r)
	})
	if answer == nil && !long {
		l.giveUp(ctx, id)
	}
	return answer
}

// isLost reports whether no answer can come to a request any more.
func (v *view) isLost(r *request) bool {
	_, left := v.left[r.key.conn]
	return left || r.end >= 0
}

// giveUp records that nobody waits any more, unless that is for want of time.
func (l *link) giveUp(ctx context.Context, id json.RawMessage) {
	if ctx.Err() == nil {
		l.sick = true
		l.probe.add(Entry{Conn: l.number, Kind: GaveUp, ID: id})
	}
}

// listen asks for a listen.
func (l *link) listen(ctx context.Context, id json.RawMessage, f filter, part Part) json.RawMessage {
	l.send(ctx, id, listenMethod, map[string]any{"notifications": f}, part)
	return id
}

// acknowledgements waits until each of some listens is acknowledged, or cannot be any more. It reports whether none of them
// was waited for in vain.
func (l *link) acknowledgements(ctx context.Context, ids ...json.RawMessage) bool {
	due := func(v *view) []json.RawMessage {
		return slices.DeleteFunc(slices.Clone(ids), func(id json.RawMessage) bool {
			r := v.byKey[keyOf(l.number, id)]
			return len(r.listening.acks) > 0 || len(r.answers) > 0 || v.isLost(r)
		})
	}
	var missing []json.RawMessage
	l.probe.until(ctx, l.probe.rec.Patience, func(v *view) bool {
		missing = due(v)
		return len(missing) == 0
	})
	for _, id := range missing {
		l.giveUp(ctx, id)
	}
	return len(missing) == 0
}

// cancel ends requests, and leaves it to heard to wait until the server must know.
func (l *link) cancel(ctx context.Context, ids ...json.RawMessage) {
	for _, id := range ids {
		l.probe.add(Entry{Conn: l.number, Kind: Cancel, ID: id})
		short, stop := context.WithTimeout(ctx, l.probe.rec.Patience)
		_ = l.conn.Cancel(short, id) // a server that has gone needs none
		stop()
	}
}

// settle is how long something may still be on its way after everything before it was answered, at least.
const settle = 500 * time.Millisecond

// settling is how much longer than for an answer a server may need to be done with what it was asked before: it may do both
// at once.
const settling = 10

// heard waits until the server must have heard of all cancels.
func (l *link) heard(ctx context.Context) bool {
	begun := time.Now()
	if l.ask(ctx, "server/discover", nil, Plain) == nil {
		return false
	}
	pause(ctx, min(settle+settling*time.Since(begun), l.probe.rec.Patience))
	if ctx.Err() != nil {
		return false
	}
	l.probe.add(Entry{Conn: l.number, Kind: Heard})
	return true
}

// close ends a connection in order.
func (l *link) close(ctx context.Context) {
	l.gone = true
	l.probe.add(Entry{Conn: l.number, Kind: Closing})
	err := l.conn.Close(ctx)
	if ctx.Err() == nil || !errors.Is(err, wire.ErrForced) { // else it was this program that had no time
		l.probe.add(Entry{Conn: l.number, Kind: Closed, Err: err})
	}
}

// drop ends a connection of which nothing is expected any more.
func (l *link) drop() {
	if l.gone {
		return
	}
	l.gone = true
	l.probe.add(Entry{Conn: l.number, Kind: Dropped})
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = l.conn.Close(ctx) // whatever it says, nobody asks
}

// leave ends what is still open, and takes away what was put into the world.
func (p *probe) leave() error {
	for _, l := range p.links {
		l.drop()
	}
	if p.world == nil {
		return nil
	}
	return p.world.Clear()
}

// note takes in what server/discover says.
func (p *probe) note(result json.RawMessage) error {
	var said struct {
		SupportedVersions []string
		Capabilities      struct {
			Tools, Prompts struct{ ListChanged bool }
			Resources      *struct{ ListChanged, Subscribe bool }
		}
	}
	if err := json.Unmarshal(result, &said); err != nil {
		return fmt.Errorf("the answer to server/discover makes no sense: %w", err)
	}
	if !slices.Contains(said.SupportedVersions, mcp.Modern) {
		return fmt.Errorf("%w, but %v", ErrNotModern, said.SupportedVersions)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := said.Capabilities
	p.rec.Serves = Capabilities{Known: true, Tools: c.Tools.ListChanged, Prompts: c.Prompts.ListChanged}
	if r := c.Resources; r != nil {
		p.rec.Serves.HasResources, p.rec.Serves.Resources, p.rec.Serves.Subscribe = true, r.ListChanged, r.Subscribe
	}
	return nil
}
