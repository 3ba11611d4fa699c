package client

import (
	"maps"
	"time"
)

// tellLive owes Live once everything that is wanted is followed and known.
func (s *session) tellLive() {
	if !s.announce || !s.settledAll() {
		return
	}
	e := Event{Kind: Live, Sets: s.turn, Unhonoured: s.unhonouredNames()}
	if s.want.List {
		e.Listed = len(s.c.view.listed) // only this goroutine changes it
	}
	for _, f := range s.followed {
		if !f.wanted() {
			continue
		}
		e.Followed++
		if f.polled != nil {
			e.Polled++
		}
	}
	if !s.live && s.c.known {
		s.suspectOthers()
	}
	if !s.c.tellLive(e, s.turn) {
		return // rewant comes
	}
	s.announce, s.live = false, true
	if s.liveSince.IsZero() {
		s.liveSince = time.Now()
	}
	s.c.known, s.c.listKnown = true, s.want.List
	s.c.view.retain(func(uri string) bool {
		f := s.followed[uri]
		return s.want.Read && f != nil && f.wanted()
	})
	maps.DeleteFunc(s.c.lent.reads, func(uri string, _ [32]byte) bool { return s.followed[uri] == nil })
}

// settledAll reports whether all that is wanted is followed and known.
func (s *session) settledAll() bool {
	if s.unanswered > 0 || len(s.uncovered) > 0 || s.unsettled > 0 || s.renew || s.want.List && !s.walked {
		return false
	}
	for flag := range s.looks {
		if _, known := s.digests[flag]; flag != list && !known {
			return false
		}
	}
	flags, _ := s.askedFlags()
	return flags == 0 || s.legacy != nil || s.flags != nil
}

// suspectOthers: the lists of tools and prompts may have changed while there was no connection.
func (s *session) suspectOthers() {
	if s.want.Tools {
		s.c.queue.changed(ToolsChanged)
	}
	if s.want.Prompts {
		s.c.queue.changed(PromptsChanged)
	}
}
