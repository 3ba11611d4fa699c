package client

import (
	"encoding/json"
	"fmt"
	"maps"
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
	s.honourExtensions(l.ext, nil)
	s.honourResources(l, nil)
	if l.flags&list != 0 {
		s.hintList() // nobody announced what changed before
	}
	s.replaced()
}

// maxRefusals is how many refused listens are tried again in parts, of those that are asked for at one time.
const maxRefusals = 64

// refused goes on after an error in place of an acknowledgement. Something in the filter may be more than the server takes:
// it is asked for in parts. A server that is only busy is asked again after another connection.
func (s *session) refused(l *listening, fault *jsonrpc.Error) {
	s.refusals++
	parts := l.parts()
	switch {
	case fault.Code == jsonrpc.MethodNotFound || fault.Code == jsonrpc.InvalidParams && (len(parts) == 0 || s.refusals > maxRefusals):
		s.log.Warn("the server has refused a listen", "err", fault)
		s.shun(l)
		s.unheeded(l)
	case fault.Code == jsonrpc.InvalidParams:
		s.unanswered--
		for _, part := range parts {
			if s.flags == l && part.flags != 0 { // the first of them: that of the lists, if there is one
				s.flags = part
			}
			s.open(part)
		}
	default:
		s.lose(fmt.Errorf("listen: %w", fault))
	}
}

// parts are what together asks for the same as l: lists, extensions and URIs apart, and then each of them in parts.
// There are none of what cannot be parted.
func (l *listening) parts() []*listening {
	follows := slices.DeleteFunc(slices.Clone(l.follows), func(f *follow) bool { return f.by != l }) // another took over
	lists := l.flags &^ extensions
	switch {
	case l.flags != 0 && len(follows) > 0:
		return []*listening{{flags: l.flags, ext: l.ext}, {follows: follows}}
	case lists != 0 && len(l.ext) > 0:
		return []*listening{{flags: lists}, {flags: extensions, ext: l.ext}}
	case len(l.ext) > 1:
		halves := []*listening{{flags: extensions, ext: map[string]json.RawMessage{}}, {flags: extensions, ext: map[string]json.RawMessage{}}}
		for i, name := range slices.Sorted(maps.Keys(l.ext)) {
			halves[2*i/len(l.ext)].ext[name] = l.ext[name]
		}
		return halves
	case lists&(lists-1) != 0: // more than one
		first := lists & -lists
		return []*listening{{flags: first}, {flags: lists &^ first}}
	case len(follows) > 1:
		half := len(follows) / 2
		return []*listening{{follows: follows[:half:half]}, {follows: follows[half:]}}
	}
	return nil
}
