package listen

import "context"

// Pending is a listen that is not acknowledged yet. Nothing can be sent on it. Its methods may be called from any goroutine.
type Pending struct {
	s       *Stream
	service *Service
	asked   Filter // nobody else's, and not changed

	// What the server's own source is to deliver; guarded by Stream.mu.
	lists [kinds]bool
	subs  []Sub
}

// Builtin has the server's own [Source] deliver f, which is part of what the client asked for, and returns what of that is
// honoured. Delivered is what is acknowledged afterwards, and from then on. The Sender may tell of the same: a change that
// both tell of is one notification. Further calls add to the first.
//
// The error is ErrNotAsked, ErrAcknowledged, that of the source, the cause of ctx, or why the listen has ended.
func (p *Pending) Builtin(ctx context.Context, f Filter) (honoured Filter, err error) {
	if err := f.within(p.asked); err != nil {
		return Filter{}, err
	}
	honoured, subs, err := p.service.honour(ctx, f)
	if ctx.Err() != nil {
		return Filter{}, context.Cause(ctx)
	}
	if err != nil {
		return Filter{}, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if err := p.s.handled.acceptsLocked(); err != nil {
		return Filter{}, err
	}
	for k, on := range honoured.lists() {
		p.lists[k] = p.lists[k] || on
	}
	p.subs = append(p.subs, subs...)
	return honoured, nil
}

// Acknowledge tells the client what is honoured, which is part of what it asked for: URIs in its spelling, extensions by
// their names, with values of the handler's. That is the first message of the listen, and there is one. What the Sender
// and the built-in source tell of once Acknowledge has returned is owed.
//
// The error is ErrNotAsked, ErrAcknowledged, why the listen has ended, or says what is no JSON. The listen is then as it was.
func (p *Pending) Acknowledge(honoured Filter) (*Sender, error) {
	if err := honoured.within(p.asked); err != nil {
		return nil, err
	}
	own := honoured.clone() // the handler's may change before it is handed out
	f, err := own.compact()
	if err != nil {
		return nil, err
	}
	p.s.mu.Lock()
	on, subs := p.lists, p.subs
	p.s.mu.Unlock()
	if err := p.s.acknowledge(f, owing(f, on, subs)); err != nil {
		return nil, err
	}
	return &Sender{p.s}, nil
}

// acknowledge makes a stream owe its acknowledgement, and from now on what is in a set.
func (s *Stream) acknowledge(f Filter, owed *newSet) error {
	wake, err := s.admit(f, owed)
	if wake {
		s.carrier.Wake(s)
	}
	return err
}

func (s *Stream) admit(f Filter, owed *newSet) (wake bool, err error) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.handled.acceptsLocked(); err != nil {
		return false, err
	}
	s.handled.pending = false
	s.ack, s.set = &f, owed.set
	s.hub.index.linkAll(s, owed.keys)
	return s.rouseLocked(), nil
}
