package listen

import (
	"context"
	"errors"
)

// Pending is a listen that is not acknowledged yet. Nothing can be sent on it.
type Pending struct {
	s       *Stream
	service *Service
	asked   Filter // not changed

	// What the server's own source delivers; guarded by Stream.mu.
	lists [kinds]bool
	subs  []Sub
}

// Builtin has the server's own [Source] deliver f, which the client asked for, and returns what of it is honoured.
// Delivered is what is acknowledged afterwards, from then on; a Sender may tell of the same, and that is one notification.
// Further calls add to the first.
//
// The error is one of ErrNotAsked, ErrAcknowledged, the source or ctx.
func (p *Pending) Builtin(ctx context.Context, f Filter) (honoured Filter, err error) {
	if err := f.within(p.asked); err != nil {
		return Filter{}, err
	}
	honoured, subs, err := p.service.honour(ctx, f)
	if err != nil {
		return Filter{}, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if h := p.s.handled; h.cause != nil || !h.pending {
		return Filter{}, errors.Join(h.cause, ErrAcknowledged)
	}
	for k, on := range honoured.lists() {
		p.lists[k] = p.lists[k] || on
	}
	p.subs = append(p.subs, subs...)
	return honoured, nil
}

// Acknowledge tells the client what is honoured, a part of what it asked for: each URI in its spelling, extensions with a
// value of the handler's. It is the first message of the listen, and there is one. What the Sender and the built-in source
// tell of from now on is owed.
//
// The error is ErrNotAsked, ErrAcknowledged, ErrCancelled, ErrShutdown or ErrEnded, or says what is no JSON.
// It leaves the listen as it was.
func (p *Pending) Acknowledge(honoured Filter) (*Sender, error) {
	if err := honoured.within(p.asked); err != nil {
		return nil, err
	}
	f, err := honoured.compact()
	if err != nil {
		return nil, err
	}
	p.s.mu.Lock()
	on, subs := p.lists, p.subs
	p.s.mu.Unlock()
	items, lists := p.s.owing(f, on, subs)
	if err := p.s.acknowledge(f, items, lists); err != nil {
		return nil, err
	}
	return &Sender{p.s}, nil
}

// acknowledge makes a stream owe its acknowledgement, and what the items say when they are marked.
func (s *Stream) acknowledge(f Filter, items []*item, lists int) error {
	s.hub.mu.Lock()
	s.mu.Lock()
	if err := s.handled.acceptsLocked(); err != nil {
		s.mu.Unlock()
		s.hub.mu.Unlock()
		return err
	}
	s.handled.pending = false
	s.ack, s.items, s.lists = &f, items, lists
	for _, it := range items {
		for e := it.keys; e != nil; e = e.sibling {
			s.hub.index.link(e)
		}
	}
	wake := s.rouseLocked()
	s.mu.Unlock()
	s.hub.mu.Unlock()
	if wake {
		s.carrier.Wake(s)
	}
	return nil
}

func (h *handled) acceptsLocked() error {
	switch {
	case h.cause != nil:
		return h.cause
	case !h.pending:
		return ErrAcknowledged
	}
	return nil
}
