package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// unreadable goes on after a read that has failed otherwise than by what the server says of the resource. If the server does
// not answer to something else either, the connection is lost. Else it is read again; then the connection is lost once for
// it, unless it is plain that the server is there, which may cure it; and in the end that is what is known of the resource.
// One that cannot be read must not keep all others from being told.
func (s *session) unreadable(f *follow, how dirt, r reply) {
	_, _, err := understand(r)
	f.failed++
	s.ask(func(lost error) {
		f.reading = false
		answered := r.err == nil || r.fault() != nil || isStatus(err) || isTooLong(err)
		enough := f.failed >= maxTries || errors.Is(err, ErrStalled) || isTooLong(err)
		switch {
		case lost != nil, enough && !answered && !s.forgives():
			s.lose(fmt.Errorf("resources/read: %w", err))
		case !enough && time.Now().Before(s.notBefore):
			f.dirt = max(how, f.dirt)
			s.retry(f)
		case !enough:
			s.soil(f, max(how, f.dirt))
		default:
			s.log.Warn("a resource cannot be read, and is tried again every so often", "uri", f.uri, "err", err)
			s.took(f, &snapshot{err: err}, how, 0)
			s.retry(f)
			if f.dirt != clean {
				s.soil(f, f.dirt)
			}
		}
	})
}

func isStatus(err error) bool {
	var status *StatusError
	return errors.As(err, &status)
}

func isTooLong(err error) bool {
	var frame *wire.FrameError
	return errors.As(err, &frame) && frame.TooLong
}

// forgives reports whether a connection was lost already because a resource was not read, and another did not help. Once a
// server has read everything for a while that is forgotten.
func (s *session) forgives() bool {
	wasWell := !s.forgave && !s.liveSince.IsZero() && time.Since(s.liveSince) >= s.opts.Backoff.Reset
	s.forgave = s.c.lostByRead && !wasWell
	s.c.lostByRead = true
	return s.forgave
}

// retry has f read again after a while. What is polled is read again anyway.
func (s *session) retry(f *follow) {
	if s.followed[f.uri] != f || f.polled != nil && f.settled {
		return
	}
	if f.retry == nil {
		f.retry = &pollItem{f: f, place: -1, anyway: true}
	}
	s.polls.again(f.retry, false, time.Until(s.notBefore), s)
}

func (s *session) dropRetry(f *follow) {
	if f.retry != nil {
		s.polls.remove(f.retry)
		f.retry = nil
	}
}
