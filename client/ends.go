package client

import (
	"fmt"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// ended is called when a listen has ended: by its answer, by an error in place of it, or because it was not acknowledged in time.
func (s *session) ended(l *listening, r reply) {
	if s.listens[l.id] != l {
		return
	}
	fault := r.fault()
	if r.err == nil && (l.empty || !l.acked) || fault != nil && !l.acked {
		s.dropListen(l)
	}
	switch {
	case r.err == nil && l.empty: // "the honoured subset" is empty: there is nothing to wait for
	case r.err == nil && l.acked:
		s.lose(fmt.Errorf("%w a listen", ErrEnded))
		s.graceful = true
	case r.err == nil:
		s.log.Warn("the server completed a listen that it had not acknowledged")
		s.unheeded(l)
	case fault != nil && !l.acked:
		s.refused(l, fault)
	default:
		s.lose(fmt.Errorf("listen: %w", r.err))
	}
}

// unheeded goes on where nothing of a listen is honoured.
func (s *session) unheeded(l *listening) {
	s.unanswered--
	s.honour(l.flags, 0)
	s.honourResources(l, nil)
	if l.flags&list != 0 {
		s.hintList() // nobody announced what changed before
	}
	s.replaced()
}

// maxRefusals is how many refused listens are tried again in parts, in one session.
const maxRefusals = 64

// refused goes on after an error in place of an acknowledgement. Something in the filter may be more than the server takes:
// it is asked for in halves. A server that is only busy is asked again after another connection.
func (s *session) refused(l *listening, fault *jsonrpc.Error) {
	s.refusals++
	single := len(l.follows) == 0 || len(l.follows) == 1 && l.flags == 0
	switch {
	case fault.Code == jsonrpc.MethodNotFound || fault.Code == jsonrpc.InvalidParams && (single || s.refusals > maxRefusals):
		s.log.Warn("the server does not listen", "err", fault)
		s.unheeded(l)
	case fault.Code == jsonrpc.InvalidParams:
		s.unanswered--
		half := len(l.follows) / 2
		if l.flags != 0 {
			half = 0
		}
		parts := []*listening{{flags: l.flags, follows: l.follows[:half:half]}, {follows: l.follows[half:]}}
		for _, part := range parts {
			part.follows = slices.DeleteFunc(slices.Clone(part.follows), func(f *follow) bool { return f.by != l })
			if part.flags == 0 && len(part.follows) == 0 {
				continue
			}
			if part.flags != 0 {
				s.flags = part
			}
			s.open(part)
		}
	default:
		s.lose(fmt.Errorf("listen: %w", fault))
	}
}
