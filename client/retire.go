package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// replace asks anew for everything that is wanted, in as few listens as it takes. The listens before go on until the new
// ones are acknowledged.
func (s *session) replace() {
	s.renew, s.merged = false, true
	for _, f := range slices.Collect(maps.Values(s.followed)) {
		if !f.wanted() {
			s.unfollow(f)
		}
	}
	s.uncovered = nil
	for _, f := range s.followed {
		f.by = nil
		if f.polled == nil {
			s.uncovered = append(s.uncovered, f)
		}
	}
	slices.SortFunc(s.uncovered, func(a, b *follow) int { return strings.Compare(a.uri, b.uri) })
	s.flags = nil
	for _, l := range s.listens {
		if !l.retired {
			l.retired = true
			s.replacing = append(s.replacing, l)
		}
	}
	s.recount = true
}

// replaced lets the listens that others have replaced go, once all of those are acknowledged.
func (s *session) replaced() {
	if s.unanswered > 0 {
		return
	}
	for _, l := range s.replacing {
		l.since = time.Now()
		s.retired = append(s.retired, l)
	}
	s.replacing = nil
}

// retireDue is when l may be cancelled: a cancelled listen is silent at once, and what it owed would be lost.
func (s *session) retireDue(l *listening) time.Time {
	last := l.since
	if l.at.After(last) {
		last = l.at
	}
	return last.Add(s.opts.Grace)
}

// retire cancels the listens that have been quiet for long enough, if the server then answers to something else: one that
// says nothing because it has stalled may still owe. What was taken over is looked at all the same: the list, and the
// entries in it, or what is kept.
func (s *session) retire(now time.Time) {
	var due []*listening
	for _, l := range s.retired {
		if !s.retireDue(l).After(now) {
			due = append(due, l)
		}
	}
	if len(due) == 0 || s.retiring {
		return
	}
	s.retiring = true
	s.ask(func(err error) {
		s.retiring = false
		if err != nil {
			s.lose(fmt.Errorf("before a listen is cancelled: %w", err))
			return
		}
		for _, l := range due {
			if s.retireDue(l).After(time.Now()) || s.listens[l.id] != l {
				continue // it has spoken meanwhile, or has ended
			}
			s.cancel(l.id)
			s.dropListen(l)
			s.takenOver(l)
		}
	})
}

func (s *session) dropListen(l *listening) {
	delete(s.calls, l.id)
	delete(s.listens, l.id)
	s.retired = slices.DeleteFunc(s.retired, func(o *listening) bool { return o == l })
	s.replacing = slices.DeleteFunc(s.replacing, func(o *listening) bool { return o == l })
	s.countListens()
}

func (s *session) takenOver(l *listening) {
	if s.want.List {
		s.stale, s.compare = true, true
		return
	}
	for _, f := range l.follows {
		if s.followed[f.uri] == f && s.want.Read && f.settled {
			s.soil(f, suspect)
		}
	}
}
