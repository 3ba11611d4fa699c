package client

import (
	"encoding/json"
	"time"
)

// listening is one listen, from the request on.
type listening struct {
	hearing
	id      string
	flags   flagSet
	ext     map[string]json.RawMessage // the extensions that it asks for
	follows []*follow
	acked   bool
	empty   bool // nothing of it is honoured: it may complete by itself
	retired bool
	since   time.Time // when another had replaced it; zero: none has
	spoke   time.Time // when the last message came on it, while hearing counts keepalives as well
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
	s.refusals = 0
	needed := 1 + (len(s.followed)-1)/s.opts.MaxURIs
	open := len(s.listens) - len(s.retired)
	if s.merged && open > 0 {
		s.merged, s.least = false, open
	}
	if s.renew || open > max(needed, s.least)+s.opts.Spare {
		s.replace()
	}
	flags, ext := s.askedFlags()
	if s.flags != nil {
		flags, ext = 0, nil
	}
	for flags != 0 || len(s.uncovered) > 0 {
		l := &listening{flags: flags, ext: ext, follows: s.takeUncovered()}
		if flags != 0 {
			s.flags = l
		}
		flags, ext = 0, nil
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
	for name, value := range l.ext {
		filter[name] = value
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
	flags, uris := flagsIn(honoured, l.flags), urisIn(honoured)
	some := s.honourExtensions(l.ext, honoured)
	l.empty = flags == 0 && len(uris) == 0 && !some
	s.honour(l.flags, flags)
	s.honourResources(l, uris)
	if l.flags&list != 0 {
		s.hintList() // nobody announced what changed before
	}
	s.replaced()
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

func (s *session) honourResources(l *listening, uris map[string]bool) {
	left, first := 0, ""
	for _, f := range l.follows {
		switch {
		case f.by != l: // another listen took over
		case uris[f.uri]:
			s.covered(f)
		default:
			if left++; first == "" || f.uri < first {
				first = f.uri
			}
			s.pollResource(f)
		}
	}
	if left > 0 {
		s.log.Warn(unannounced, "count", left, "uri", first)
	}
}

const unannounced = "the server does not announce changes of some resources: they are looked at every so often"
