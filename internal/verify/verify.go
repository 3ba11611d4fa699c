package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// Options say how a server is put to the test. The zero value and nil have the defaults.
type Options struct {
	// Patience is how long a server may take for anything before that counts as missing, 0: 10 s.
	Patience time.Duration
	// Wait is how long at most the probe waits for something that the server says by itself, 0: 10 s. It does so only if it
	// has nothing to change.
	Wait time.Duration
	// Bound is how long the whole of it may take, 0: two minutes. What was not tried until then is skipped, and the finding says
	// that time was the reason.
	Bound time.Duration
	// World is where the probe changes what the server serves, nil: nowhere.
	World World
	// Unlisted is called at most once: if the server does not list all that was made in World, so that it is tested as if
	// there were none. Nil: nobody is told.
	Unlisted func()
	// Client is the name and the version that requests carry.
	Client mcp.Implementation
	// Trace is called for each entry of the recording, one after the other, nil: by nobody.
	Trace func(Entry)

	// Of tests.
	dial    func(context.Context, wire.Target, func(wire.Event)) (wire.Conn, error)
	baggage int // how many URIs a listen has that is to stall the server
	room    int // bytes that the recording may take
}

// ErrNotModern reports a server that does not speak the revision whose rules these are.
var ErrNotModern = errors.New("the server does not speak " + mcp.Modern)

// Run puts a server to the test and judges what came of it. The error says why that could not be done: the server does not
// start, or does not answer, or is of another time ([ErrNotModern]), or ctx has ended.
func Run(ctx context.Context, t wire.Target, opts *Options) ([]Finding, error) {
	p := newProbe(t, opts)
	bounded, stop := context.WithTimeout(ctx, p.bound)
	defer stop()
	p.full = stop
	err := p.run(bounded)
	if bounded.Err() != nil {
		p.rec.Expired = p.bound
	}
	left := p.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		err = errors.New("interrupted before all was tried")
	case p.isFullLocked(): // whatever else came of that
		err = fmt.Errorf("the server has said more than %d MiB, which is more than can be looked through", p.room>>20)
	}
	switch {
	case err != nil && left != nil:
		return nil, fmt.Errorf("%w; %w", err, left)
	case err != nil:
		return nil, err
	case left != nil:
		return nil, left
	}
	return Judge(p.rec), nil
}

// run plays the parts one after the other. Each goes on with the connection of the one before, unless that has become
// unfit, so that one fault is not told as several.
func (p *probe) run(ctx context.Context) error {
	l, err := p.connect(ctx, nil)
	if err != nil {
		return err
	}
	if err := p.meet(ctx, l); err != nil {
		return err
	}
	if p.world != nil {
		if err := p.prepare(ctx, l); err != nil {
			return err
		}
	}
	p.look(ctx, l)
	for _, part := range []func(context.Context, *link){
		p.listenTwice, p.listenToAll, p.cancelSome, p.askBadly, p.listenInCrowds, p.cutMany, p.stallOne, p.end,
	} {
		if ctx.Err() != nil {
			break
		}
		if l, err = p.fit(ctx, l); ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		part(ctx, l)
	}
	return nil
}

// fit is l, or a new connection in its place if it is unfit.
func (p *probe) fit(ctx context.Context, l *link) (*link, error) {
	if !l.unfit() {
		return l, nil
	}
	l.drop()
	return p.connect(ctx, nil)
}

// meet finds out whether there is anything to test.
func (p *probe) meet(ctx context.Context, l *link) error {
	answer := l.ask(ctx, "server/discover", nil, Plain)
	if answer == nil {
		return p.unanswered(l)
	}
	if answer.Error != nil {
		return fmt.Errorf("%w: server/discover: %w", ErrNotModern, answer.Error)
	}
	return p.note(answer.Result)
}

// unanswered says why the first request on a connection has no answer.
func (p *probe) unanswered(l *link) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.rec.Entries {
		if refused := (*wire.StatusError)(nil); e.Conn == l.number && errors.As(e.Err, &refused) {
			return refused
		}
	}
	first := p.view.requests[0]
	switch why := p.view.why(first); {
	case first.long >= 0:
		return fmt.Errorf("the answer to server/discover cannot be taken: %w", p.rec.Entries[first.long].Err)
	case why != "" && first.end >= 0 && p.rec.Entries[first.end].Err != nil:
		return fmt.Errorf("the server does not answer: %w", p.rec.Entries[first.end].Err)
	case why != "":
		return fmt.Errorf("the server does not answer: %s", why)
	}
	return fmt.Errorf("the server has not answered server/discover within %v", min(p.rec.Patience, p.bound))
}
