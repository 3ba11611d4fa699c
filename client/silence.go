package client

import (
	"fmt"
	"time"
)

// hearing is when a stream was last heard of.
type hearing struct {
	at    time.Time
	alive bool // it has sent a keepalive
}

func (h *hearing) heardOf(now time.Time, keepalive bool) {
	h.at = now
	h.alive = h.alive || keepalive
}

// deadline is when expire has something to do next, if nothing else happens before.
func (s *session) deadline() time.Time {
	first := time.Now().Add(time.Hour)
	earlier := func(t time.Time) {
		if t.Before(first) {
			first = t
		}
	}
	for _, c := range s.calls {
		if !c.deadline.IsZero() {
			earlier(c.deadline)
		}
	}
	if !s.eraDue.IsZero() {
		earlier(s.eraDue)
	}
	if !s.ready {
		return first
	}
	if s.opts.Probe > 0 && !s.probing {
		earlier(s.heard.Add(s.opts.Probe))
	}
	for _, l := range s.listens {
		if silent, ok := s.silentAt(&l.hearing); ok && l.acked {
			earlier(silent)
		}
	}
	if s.legacy != nil && s.legacy.followed {
		if silent, ok := s.silentAt(&s.legacy.stream); ok {
			earlier(silent)
		}
	}
	if !s.retiring && !s.c.answersCancelled {
		for _, l := range s.retired {
			if due, ok := s.retireDue(l); ok {
				earlier(due)
			}
		}
	}
	if len(s.polls) > 0 {
		earlier(s.polls[0].due)
	}
	if due := s.walkDue(); s.stale && due.After(time.Now()) {
		earlier(due)
	}
	return first
}

// unkept is how much longer a stream may be silent on which the server sends no keepalives.
const unkept = 10

// silentAt is when a stream over HTTP counts as lost. ok is false if it never does.
func (s *session) silentAt(h *hearing) (at time.Time, ok bool) {
	if !s.overHTTP || s.opts.Idle <= 0 {
		return at, false
	}
	if h.alive {
		return h.at.Add(s.opts.Idle), true
	}
	return h.at.Add(unkept * s.opts.Idle), true
}

// expire does what is due by time alone.
func (s *session) expire(now time.Time) {
	if !s.eraDue.IsZero() && !s.eraDue.After(now) { // before server/discover is given up, which may be due too
		s.eraDue = time.Time{}
		s.suspectEarlier()
	}
	for id, c := range s.calls {
		if !c.deadline.IsZero() && !c.deadline.After(now) {
			s.answer(id, reply{err: fmt.Errorf("%w: no answer to %s in time", ErrStalled, c.method)})
			if c.method != "initialize" { // which "MUST NOT" be (2025-11-25, basic/utilities/cancellation)
				s.cancel(id)
			}
		}
	}
	if !s.ready {
		return
	}
	for _, l := range s.listens {
		if silent, ok := s.silentAt(&l.hearing); ok && l.acked && !silent.After(now) {
			s.lose(fmt.Errorf("%w: nothing was heard on a listen for %v", ErrStalled, now.Sub(l.at).Round(time.Second)))
		}
	}
	if s.legacy != nil && s.legacy.followed {
		if silent, ok := s.silentAt(&s.legacy.stream); ok && !silent.After(now) {
			s.lose(fmt.Errorf("%w: nothing was heard on its stream for %v", ErrStalled, now.Sub(s.legacy.stream.at).Round(time.Second)))
		}
	}
	s.retire(now)
	if s.opts.Probe > 0 && !s.probing && now.Sub(s.heard) >= s.opts.Probe {
		s.probing = true
		s.ask(func(err error) {
			s.probing = false
			if err != nil {
				s.lose(err)
			}
		})
	}
}

// ask has the server answer something, whatever it is.
func (s *session) ask(then func(error)) {
	method := "server/discover"
	if s.legacy != nil {
		method = "ping"
	}
	s.call(method, nil, s.opts.Timeout, func(r reply) {
		if r.err == nil || r.fault() != nil {
			then(nil)
			return
		}
		then(fmt.Errorf("%s: %w", method, r.err))
	})
}
