package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// flagSet is a set of what a filter asks for by flags.
type flagSet int

const (
	list flagSet = 1 << iota
	tools
	prompts
	extensions // all of them
)

// lists are the flags with a member of their own in a filter, and what a Status calls them.
var lists = []struct {
	flag         flagSet
	member, name string
}{
	{list, "resourcesListChanged", "resources"},
	{tools, "toolsListChanged", "tools"},
	{prompts, "promptsListChanged", "prompts"},
}

func flagsOf(w Want) (f flagSet) {
	for flag, wanted := range map[flagSet]bool{list: w.List, tools: w.Tools, prompts: w.Prompts, extensions: len(w.Extensions) > 0} {
		if wanted {
			f |= flag
		}
	}
	return f
}

func sameExtensions(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

func (s *session) wantedFlags() flagSet { return flagsOf(s.want) }

// listening is one listen, from the request on.
type listening struct {
	hearing
	id      string
	flags   flagSet
	follows []*follow
	acked   bool
	empty   bool // nothing of it is honoured: it may complete by itself
	retired bool
	since   time.Time // when another had replaced it; zero: none has
}

// hearing is when a stream was last heard of.
type hearing struct {
	at    time.Time
	alive bool // it has sent a keepalive
}

func (h *hearing) heardOf(now time.Time, keepalive bool) {
	h.at = now
	h.alive = h.alive || keepalive
}

// cover asks for what is neither covered nor asked for. All that fits is in one listen.
func (s *session) cover() {
	if s.legacy != nil {
		s.coverLegacy()
		return
	}
	if s.unanswered > 0 {
		return
	}
	needed := 1 + (len(s.followed)-1)/s.opts.MaxURIs
	open := len(s.listens) - len(s.retired)
	if s.merged && open > 0 {
		s.merged, s.least = false, open
	}
	if s.renew || open > max(needed, s.least)+s.opts.Spare {
		s.replace()
	}
	flags := s.wantedFlags()
	if s.flags != nil || flags == 0 {
		flags = 0
	}
	for flags != 0 || len(s.uncovered) > 0 {
		l := &listening{flags: flags, follows: s.takeUncovered()}
		if flags != 0 {
			s.flags = l
		}
		flags = 0
		s.open(l)
	}
	s.replaced()
}

// takeUncovered takes what fits into one listen.
func (s *session) takeUncovered() []*follow {
	size := 0
	for i, f := range s.uncovered {
		size += encodedLen(f.uri) + 1
		if i >= s.opts.MaxURIs || size > maxFilterBytes {
			some := s.uncovered[:i:i]
			s.uncovered = s.uncovered[i:]
			return some
		}
	}
	all := s.uncovered
	s.uncovered = nil
	return all
}

// encodedLen is at least the length of a string in JSON as this package writes it.
func encodedLen(text string) int {
	n := len(text) + 2
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20, c == '"', c == '\\', c == '<', c == '>', c == '&', c == 0x7F:
			n += 5
		case c == 0xE2: // may begin U+2028 or U+2029
			n += 3
		}
	}
	return n
}

// open sends a listen.
func (s *session) open(l *listening) {
	filter := map[string]any{}
	if l.flags&extensions != 0 {
		for name, value := range s.want.Extensions {
			filter[name] = value
		}
	}
	for _, of := range lists {
		if l.flags&of.flag != 0 {
			filter[of.member] = true
		}
	}
	if len(l.follows) > 0 {
		uris := make([]string, len(l.follows))
		for i, f := range l.follows {
			f.by = l
			uris[i] = f.uri
		}
		filter["resourceSubscriptions"] = uris
	}
	s.unanswered++
	c := s.call("subscriptions/listen", map[string]any{"notifications": filter}, s.opts.Timeout, func(r reply) { s.ended(l, r) })
	c.listen, l.id = l, c.id
	l.at = time.Now()
	s.listens[l.id] = l
	s.countListens()
}

func (s *session) countListens() {
	n := len(s.listens)
	s.c.setStatus(func(st *Status) { st.Listens = n })
}

// acknowledged takes what the server honours of a listen; the rest is polled.
func (s *session) acknowledged(l *listening, notifications json.RawMessage) {
	if l.acked {
		s.warnOnce("the server acknowledged a listen twice")
		return
	}
	var honoured map[string]json.RawMessage
	if len(notifications) > 0 && json.Unmarshal(notifications, &honoured) != nil {
		s.warnOnce("the server acknowledged what makes no sense")
	}
	l.acked = true
	s.unanswered--
	if c := s.calls[l.id]; c != nil {
		c.deadline = time.Time{} // it is answered at its end
	}
	flags, uris := flagsIn(honoured, l.flags, s.want.Extensions), urisIn(honoured)
	l.empty = flags == 0 && len(uris) == 0
	s.honour(l.flags, flags)
	s.honourResources(l, uris)
	if l.flags&list != 0 {
		s.stale = s.want.List
	}
	s.replaced()
}

// flagsIn are those of asked that are honoured.
func flagsIn(honoured map[string]json.RawMessage, asked flagSet, ext map[string]json.RawMessage) (flags flagSet) {
	for _, of := range lists {
		if string(honoured[of.member]) == "true" {
			flags |= of.flag
		}
	}
	if asked&extensions != 0 {
		flags |= extensions
		for name := range ext {
			if _, ok := honoured[name]; !ok {
				flags &^= extensions
			}
		}
	}
	return flags & asked
}

func urisIn(honoured map[string]json.RawMessage) map[string]bool {
	var uris []string
	if json.Unmarshal(honoured["resourceSubscriptions"], &uris) != nil {
		return nil
	}
	set := make(map[string]bool, len(uris))
	for _, uri := range uris {
		set[uri] = true
	}
	return set
}

// honour notes which of the flags asked for the server announces.
func (s *session) honour(asked, honoured flagSet) {
	for _, of := range lists {
		switch {
		case asked&of.flag == 0:
		case honoured&of.flag == 0:
			s.pollList(of.flag)
		case s.looks[of.flag] != nil:
			s.polls.remove(s.looks[of.flag])
			delete(s.looks, of.flag)
			s.unhonoured &^= of.flag
			s.recount = true
		}
	}
	if asked&extensions != 0 && honoured&extensions == 0 && s.unhonoured&extensions == 0 {
		s.unhonoured |= extensions
		s.log.Warn("the server does not honour all extensions of the filter")
	}
	if honoured&extensions != 0 {
		s.unhonoured &^= extensions
	}
}

func (s *session) honourResources(l *listening, uris map[string]bool) {
	left := 0
	for _, f := range l.follows {
		switch {
		case f.by != l: // another listen took over
		case uris[f.uri]:
			s.covered(f)
		default:
			left++
			s.pollResource(f)
		}
	}
	if left > 0 {
		s.log.Warn("the server does not announce changes of some resources: they are looked at every so often", "count", left)
	}
}

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
		s.stale = s.want.List
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

// countPolled says what is polled, if that has changed.
func (s *session) countPolled() {
	if !s.recount {
		return
	}
	s.recount = false
	var uris, names []string
	for uri, f := range s.followed {
		if f.polled != nil && f.wanted() {
			uris = append(uris, uri)
		}
	}
	slices.SortFunc(uris, strings.Compare)
	for _, of := range lists {
		if s.unhonoured&of.flag != 0 {
			names = append(names, of.name)
		}
	}
	s.c.setStatus(func(st *Status) { st.Polled, st.PolledLists = uris, names })
}
