package listen

// Add subscribes to more, for resources/subscribe of a legacy session. What is published after it returned is owed.
func (s *Stream) Add(subs ...Sub) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	for _, sub := range subs {
		s.addLocked(sub)
	}
}

// addLocked adds what is new in sub. Hub.mu is held too.
func (s *Stream) addLocked(sub Sub) {
	x := &s.hub.index
	i := s.find(sub.URI)
	if i < 0 {
		i = s.addURI(sub.URI)
	}
	for e := s.items[i].first; !e.none(); e = s.entries[e.index()].sibling {
		if x.keys[s.entries[e.index()].key].key == sub.Key {
			return
		}
	}
	x.link(s, s.addEntry(i, 0), sub.Key)
}

// Remove ends the subscription to a URI with all its keys. What was owed for it is not said.
func (s *Stream) Remove(uri string) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(uri)
	if i < 0 {
		return
	}
	for e := s.items[i].first; !e.none(); e = s.entries[e.index()].sibling {
		s.hub.index.unlink(s, e.index())
	}
	if !s.items[i].slot.none() {
		s.dirty.remove(s.items, i)
	}
	delete(s.changed, i)
	s.drop(i)
}

// URIs is the number of distinct URIs subscribed to, 0 once the stream is over.
func (s *Stream) URIs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.uris)
}

// Has reports whether a URI, in this spelling, is subscribed to.
func (s *Stream) Has(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(uri) >= 0
}
