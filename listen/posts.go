package listen

import "slices"

// post is a notification that waits to be handed out, and with it somebody who waits for that.
type post struct {
	frame []byte
	due   moment // when it was first considered, never before that; guarded by Stream.mu

	// settled is closed when the post has been handed out or withdrawn, with Stream.mu held.
	settled chan struct{}
	err     error // why it was withdrawn; set before settled is closed
}

func (p *post) settle(err error) {
	p.err = err
	close(p.settled)
}

// postDueLocked reports whether the first post goes before what is dirty: it goes after all that was due when its turn came,
// so that it overtakes no change that was told before, and before what is due since, so that no flood of changes keeps it
// back.
func (s *Stream) postDueLocked(now moment) bool {
	if s.handled == nil || len(s.handled.posts) == 0 {
		return false
	}
	first := s.handled.posts[0]
	if first.due == never {
		first.due = now
	}
	return len(s.dirty) == 0 || s.firstDueLocked() > first.due
}

// takePostLocked takes the first post to hand it out.
func (s *Stream) takePostLocked() *post {
	h := s.handled
	first := h.posts[0]
	h.posts[0] = nil
	if h.posts = h.posts[1:]; len(h.posts) == 0 {
		h.posts = nil
	}
	first.settle(nil)
	return first
}

// post adds a notification to the posts of a stream that lives.
func (s *Stream) post(n notification) (*post, error) {
	p := &post{frame: n.frame, due: never, settled: make(chan struct{})}
	wake, err := s.addPost(n, p)
	if wake {
		s.carrier.Wake(s)
	}
	return p, err
}

func (s *Stream) addPost(n notification, p *post) (wake bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handled.cause != nil {
		return false, s.handled.cause
	}
	if n.kind != posted && !s.covers(n.kind, n.uri) {
		return false, notAcknowledged(n.kind, n.uri)
	}
	s.handled.posts = append(s.handled.posts, p)
	return s.rouseLocked(), nil
}

// withdraw takes back a post that has not been settled meanwhile.
func (s *Stream) withdraw(p *post, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.handled
	if i := slices.Index(h.posts, p); i >= 0 {
		h.posts = slices.Delete(h.posts, i, i+1)
		p.settle(cause)
	}
}
