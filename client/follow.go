package client

import "bytes"

// follow is one resource that is followed, or that was and is still covered by a listen.
type follow struct {
	uri      string
	explicit bool // it is wanted for itself
	listed   bool // it is wanted because it is listed

	by     *listening // that covers it, or is asked to; nil: none, or a legacy subscription
	acked  bool       // a listen that covers it is acknowledged, this one or the one that it replaces
	polled *pollItem  // what the server does not announce, nil if it does

	settled bool // covered and, if contents are kept, read since then
	fresh   bool // to be told as Added when it is settled
	toldAt  int  // session.walks when the server last said that it changed

	dirt    dirt
	queued  bool // in session.dirty
	reading bool
	failed  int       // reads in a row
	retry   *pollItem // after a read that has failed, nil: none is due
	digest  [32]byte  // of the contents, if it is polled and they are not kept
	seen    bool      // digest is of something
}

// dirt is how much there is to a suspicion.
type dirt int

const (
	clean    dirt = iota
	suspect       // it may have changed: told if it has
	notified      // the server says that it changed: told in any case
)

func (f *follow) wanted() bool { return f.explicit || f.listed }

// covered reports whether later changes of f are found, by a listen or by looks.
func (f *follow) covered() bool { return f.acked || f.polled != nil }

// unread goes on with what is not kept any more. Later looks compare with what was kept; what would have been compared now
// is told.
func (s *session) unread(f *follow) {
	switch {
	case f.polled != nil:
		if of := s.c.view.snapshot(f.uri); of != nil {
			f.seen, f.digest = true, of.digest()
		}
	case f.dirt == suspect:
		f.dirt = notified
	}
	if f.acked && !f.reading && !s.reads(f) {
		s.settle(f)
	}
}

// adopt begins to follow what is wanted, at the start of a session. All that was followed before counts as changed. What is
// wanted may be another than in the session before.
func (s *session) adopt() {
	for _, uri := range s.want.URIs {
		s.newFollow(uri).explicit = true
	}
	if !s.want.Read {
		s.c.view.retain(func(string) bool { return false })
	}
	if !s.want.List {
		s.forgetList()
	}
	s.forget()
	s.stale = s.want.List && s.legacy != nil
}

func (s *session) newFollow(uri string) *follow {
	f := &follow{uri: uri}
	if s.c.known {
		f.dirt = notified
	}
	if f.dirt == notified && s.want.Read && s.c.view.snapshot(uri) != nil {
		f.dirt = suspect // what it holds is compared with what it held
	}
	s.followed[uri] = f
	delete(s.former, uri)
	s.unsettled++
	s.uncovered = append(s.uncovered, f)
	return f
}

// maxFormer bounds what is remembered of what was followed once.
const maxFormer = 100_000

// unfollow forgets what no listen covers any more.
func (s *session) unfollow(f *follow) {
	if !f.settled {
		s.unsettled--
	}
	if f.polled != nil {
		s.polls.remove(f.polled)
		f.polled = nil
		s.recount = true
	}
	s.dropRetry(f)
	delete(s.c.lent.reads, f.uri)
	if len(s.former) >= maxFormer {
		clear(s.former) // what comes late for one of them is then taken for something else, and looked at in vain
	}
	s.former[f.uri] = true
	f.settled = true // what still comes for it changes nothing
	delete(s.followed, f.uri)
	s.c.view.dropContents(f.uri)
}

// covered goes on with what is announced from now on. What happened before that is looked at, if it is kept.
func (s *session) covered(f *follow) {
	f.acked = true
	if f.settled {
		return
	}
	s.outdate(f.uri) // nobody announced what changed before
	if s.want.Read && f.wanted() {
		s.soil(f, suspect)
		return
	}
	s.settle(f)
}

// settle tells what is true of f from now on.
func (s *session) settle(f *follow) {
	if f.settled {
		return
	}
	f.settled = true
	s.unsettled--
	if f.fresh {
		f.fresh = false
		if r := s.c.view.resource(f.uri); r != nil && f.listed {
			s.c.queue.added(r, f.explicit, s.show(f.uri))
			f.dirt = min(f.dirt, suspect) // whoever is told of it looks at it
		}
	}
	if f.dirt == notified || f.dirt == suspect && s.reads(f) {
		s.soil(f, f.dirt)
	}
}

// unsettle has f read, if it is to be read, before it counts as known.
func (s *session) unsettle(f *follow) {
	if f.settled && s.reads(f) {
		f.settled = false
		s.unsettled++
		s.soil(f, suspect)
	}
}

// soil notes that f may have changed. It is told or read when its turn comes; whoever is told then reads anew.
func (s *session) soil(f *follow, how dirt) {
	s.outdate(f.uri)
	f.dirt = max(f.dirt, how)
	if how == notified {
		f.toldAt = s.walks
	}
	if f.queued || f.reading {
		return
	}
	f.queued = true
	s.dirty = append(s.dirty, f)
}

// suspect looks at f, or has whoever is told look.
func (s *session) suspect(f *follow) {
	how := notified
	if s.reads(f) {
		how = suspect
	}
	s.soil(f, how)
}

// reads reports whether f must be read for its changes to be known.
func (s *session) reads(f *follow) bool { return s.want.Read || f.polled != nil }

// rewant takes over what is wanted now. What is new is covered; if anything is not wanted any more, all listens are
// replaced, so that nobody is told of it.
func (s *session) rewant() {
	before := s.want
	want, turn := s.c.wanted()
	if turn == s.turn {
		return
	}
	s.want, s.turn, s.announce = want, turn, true
	if !s.ready {
		return
	}
	s.recount = true
	now := make(map[string]bool, len(want.URIs))
	for _, uri := range want.URIs {
		now[uri] = true
		f := s.followed[uri]
		if f == nil {
			f = s.newFollow(uri)
			f.dirt = clean // it was not followed before
		}
		if !f.wanted() {
			s.unsettle(f)
		}
		f.explicit = true
	}
	for _, uri := range before.URIs {
		if !now[uri] {
			s.followed[uri].explicit = false
			s.renew = true
		}
	}
	s.rewantList(before)
	s.rewantFlags(before)
	s.forget()
}

// forget takes back what is owed and not wanted any more. While the list is not known, any resource may be listed.
func (s *session) forget() {
	unwanted := s.want.unwanted()
	s.c.queue.forget(func(kind Kind, uri string) bool {
		if kind != Updated {
			return unwanted(kind, uri)
		}
		f := s.followed[uri]
		return (f == nil || !f.wanted()) && (s.walked || !s.want.Listed)
	})
}

// rewantList changes whether the list, and what is listed, is followed and kept.
func (s *session) rewantList(before Want) {
	unlooked := before.List && !s.want.List && (s.stale || s.walking != nil) // a resource may have gone or come, and it is not looked at
	if s.want.List != before.List {
		s.stopWalking()
		s.walked, s.stale = false, s.want.List
		s.forgetList()
	}
	for _, f := range s.followed {
		if before.Listed && !s.want.Listed {
			f.listed, f.fresh = false, false
			s.renew = true
		}
		if unlooked && f.explicit && f.settled {
			s.suspect(f)
		}
		if !before.Read && f.wanted() {
			s.unsettle(f)
		}
		if before.Read && !s.want.Read {
			s.unread(f)
		}
		if !s.want.Read || !f.wanted() {
			s.c.view.dropContents(f.uri)
		}
		if !f.settled && !f.wanted() {
			s.settle(f)
		}
	}
	if !before.Listed && s.want.Listed {
		s.walked, s.stale = false, true
	}
	s.stale = s.stale || before.Listed && s.want.List // what was to be told when it is followed is told now
}

// forgetList: nothing of the list that is known is compared with another.
func (s *session) forgetList() {
	s.c.listKnown = false
	clear(s.c.lent.lists)
	s.c.view.setList(nil, false)
}

// rewantFlags changes which lists and extensions are followed.
func (s *session) rewantFlags(before Want) {
	had, has := flagsOf(before), flagsOf(s.want)
	if had != has || !sameExtensions(before.Extensions, s.want.Extensions) {
		s.renew = true
	}
	for name := range s.unmet {
		if !bytes.Equal(before.Extensions[name], s.want.Extensions[name]) {
			delete(s.unmet, name) // with another value the server may take it
		}
	}
	for flag, it := range s.looks {
		if has&flag == 0 {
			s.polls.remove(it)
			delete(s.looks, flag)
			delete(s.digests, flag)
			s.unhonoured &^= flag
		}
	}
	s.shunned &= has
}
