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
	if s.c.answersCancelled && len(s.retired) > maxUncancelled {
		s.lose(fmt.Errorf("%w a cancelled listen by an answer, so that none is cancelled: they are too many", ErrEnded))
	}
}

const (
	// maxOwing is how many times Grace a listen that is never quiet is kept: what it owed when it was replaced, it has said.
	maxOwing = 6
	// maxRetired is how many listens wait to be cancelled: who changes the filter faster is told of more than has changed.
	maxRetired = 16
)

// lull is since when l has been quiet.
func (l *listening) lull() time.Time {
	if l.spoke.After(l.since) {
		return l.spoke
	}
	return l.since
}

// retireDue is when l may be cancelled: a cancelled listen is silent at once, and what it owed would be lost. A stream that
// has keepalives must be heard of meanwhile: nothing is on its way before those any more. ok is false while it is not.
func (s *session) retireDue(l *listening) (due time.Time, ok bool) {
	if i := slices.Index(s.retired, l); i < len(s.retired)-maxRetired {
		return l.since, true
	}
	if l.alive && l.at.Before(l.since.Add(s.opts.Grace)) {
		return due, false
	}
	due = l.lull().Add(s.opts.Grace)
	if most := l.since.Add(maxOwing * s.opts.Grace); most.Before(due) {
		due = most
	}
	return due, true
}

// mayRetire reports whether l may be cancelled by now.
func (s *session) mayRetire(l *listening, now time.Time) bool {
	due, ok := s.retireDue(l)
	return ok && !due.After(now)
}

// retire cancels the listens that have been quiet for long enough, if the server then answers to something else: one that
// says nothing because it has stalled may still owe. What was taken over is looked at all the same: the list, and the
// entries in it, or what is kept.
func (s *session) retire(now time.Time) {
	if s.c.answersCancelled {
		return
	}
	var due []*listening
	for _, l := range s.retired {
		if s.mayRetire(l, now) {
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
		now := time.Now()
		for _, l := range due {
			if !s.mayRetire(l, now) || s.listens[l.id] != l {
				continue // it has spoken meanwhile, or has ended
			}
			quiet := !l.lull().Add(s.opts.Grace).After(now)
			s.cancel(l.id)
			s.dropListen(l)
			if s.gone[l.id] = true; len(s.gone) > maxUncancelled {
				clear(s.gone)
			}
			s.takenOver(l, quiet)
		}
	})
}

// maxUncancelled bounds the listens that are open at a server of which none may be cancelled.
const maxUncancelled = 100

// answeredCancelled: the server has answered a listen that was cancelled, which it "MUST NOT" (basic/patterns/cancellation).
// One that does may have ended others with it, as go-sdk 1.8.0 does on a pipe, where it keeps one subscription of each
// resource for all listens. So all is looked at after another connection, and from then on no listen is cancelled.
func (s *session) answeredCancelled() {
	s.c.answersCancelled = true
	s.log.Warn("the server answers a listen that was cancelled, and may have ended others with it: none is cancelled any more")
	s.lose(fmt.Errorf("%w a cancelled listen by an answer, and may have ended others with it", ErrEnded))
}

func (s *session) dropListen(l *listening) {
	delete(s.calls, l.id)
	delete(s.listens, l.id)
	s.retired = slices.DeleteFunc(s.retired, func(o *listening) bool { return o == l })
	s.replacing = slices.DeleteFunc(s.replacing, func(o *listening) bool { return o == l })
	s.countListens()
}

// takenOver looks at what a listen may have owed when it was cancelled. If it was not quiet it counts as owing.
func (s *session) takenOver(l *listening, quiet bool) {
	for flag, kind := range map[flagSet]Kind{tools: ToolsChanged, prompts: PromptsChanged} {
		if l.flags&s.wantedFlags()&flag != 0 && s.looks[flag] == nil {
			s.c.queue.changed(kind)
		}
	}
	if s.want.List {
		s.hintList()
		s.compare = true
	}
	for _, f := range l.follows {
		switch {
		case s.followed[f.uri] != f || !f.wanted() || !f.settled:
		case s.want.Read && (f.explicit || !quiet):
			s.soil(f, suspect)
		case !quiet:
			s.soil(f, notified)
		}
	}
}
