package client

// lent is what Read and List were answered with since the last look. Whoever called may know it alone: it can come and go
// between two looks, or over a loss.
type lent struct {
	reads map[string][32]byte // digests, by URI; only of what is followed, or will be since it was listed before the loss
	// lists has what List gave otherwise than the view shows: whether a URI was there.
	lists map[string]bool
}

func newLent() lent { return lent{reads: map[string][32]byte{}, lists: map[string]bool{}} }

// lend notes what somebody has read.
func (s *session) lend(uri string, got *snapshot) {
	s.c.queue.shown(uri)
	if s.followed[uri] == nil && !(s.want.Listed && s.c.view.listed[uri] != nil) {
		return
	}
	digest := got.digest()
	if before, ok := s.c.lent.reads[uri]; ok && before != digest {
		digest = [32]byte{} // several: whatever is there next is another than one of them
	}
	s.c.lent.reads[uri] = digest
}

// overtaken tells who has read f what a look found that was answered before them, if it is otherwise. It is not looked at once
// more: that would overtake who reads because of it, and so on. A look that is still to come compares by itself. Where nothing is
// looked at, a change that was told before they were answered is told once more.
func (s *session) overtaken(f *follow, a *ask) {
	if !f.wanted() || !f.settled || f.reading || f.queued {
		return
	}
	if !s.reads(f) {
		if a.told {
			delete(s.c.lent.reads, f.uri)
			s.c.queue.updated(f.uri, f.explicit)
		}
		return
	}
	if !s.want.Read && !f.seen {
		return
	}
	known := f.digest
	if s.want.Read {
		of := s.c.view.snapshot(f.uri)
		if of == nil {
			return
		}
		known = of.digest()
	}
	lent, ok := s.c.lent.reads[f.uri]
	if delete(s.c.lent.reads, f.uri); ok && lent != known {
		s.c.queue.updated(f.uri, f.explicit)
	}
}

// giveBack reports whether somebody has read something else than what is there now, and forgets what they have.
func (s *session) giveBack(uri string, now *snapshot) (differs bool) {
	digest, ok := s.c.lent.reads[uri]
	delete(s.c.lent.reads, uri)
	return ok && digest != now.digest()
}

// spareLent is how many names that were listed otherwise may wait for a look above twice those of both lists.
const spareLent = 1000

// lendList notes what somebody has listed. It is looked at when the list is walked anyway: they may call whenever something is
// told, and then a list that is another each time would be walked without end. A walk that memory is the reason for may be
// impossible, such as after a loss; then what was listed last counts.
func (s *session) lendList(found []*Resource) {
	if !s.want.List || !s.c.listKnown {
		return
	}
	lists := s.c.lent.lists
	enough := 2*(len(found)+len(s.c.view.listed)) + spareLent
	if len(lists) > 2*enough {
		clear(lists)
	}
	there := make(map[string]bool, len(found))
	for _, r := range found {
		there[r.URI] = true
		if s.c.view.listed[r.URI] == nil || s.c.view.isHidden(r.URI) {
			lists[r.URI] = true
		}
	}
	for uri := range s.c.view.listed {
		if !there[uri] && !s.c.view.isHidden(uri) {
			lists[uri] = false
		}
	}
	s.stale = s.stale || len(lists) > enough
}

// giveBackList tells of what somebody has listed otherwise than a walk has found it, also if they were answered only after that. It
// is told as if it had been so before the walk: what was not there is added, what was there is removed. What is hidden is told when
// it is not any more.
func (s *session) giveBackList() {
	for uri, there := range s.c.lent.lists {
		if s.c.view.isHidden(uri) {
			continue
		}
		delete(s.c.lent.lists, uri)
		f, r := s.followed[uri], s.c.view.listed[uri]
		switch {
		case there && r == nil:
			s.c.queue.removed(uri, f != nil && f.explicit, lookedAt)
		case !there && r != nil:
			s.c.queue.added(r, f != nil && f.explicit, lookedAt)
		}
	}
}

// show has a listed resource seen, and says how often the view was looked at before.
func (s *session) show(uri string) (looks int) {
	looks = s.c.view.show(uri)
	if s.isLent(uri) {
		looks = lookedAt
	}
	delete(s.c.lent.lists, uri)
	return looks
}

// isLent reports whether somebody has read or listed a resource that is not shown.
func (s *session) isLent(uri string) bool {
	_, read := s.c.lent.reads[uri]
	return read || s.c.lent.lists[uri]
}
