package listen

import "slices"

// post is a notification that waits to be handed out, and somebody who waits for that.
type post struct {
	frame []byte
	// settled is closed when the post was handed out or withdrawn, once it is no more among the posts.
	settled chan struct{}
	err     error  // why it was withdrawn; set before settled is closed
	due     moment // when it was first considered, never before
}

// posts are those of one stream, in the order they were made. Guarded by Stream.mu.
type posts []*post

func (p posts) withdrawAll(cause error) {
	for _, each := range p {
		each.err = cause
		close(each.settled)
	}
}

// dueLocked reports whether the first post goes before what is dirty: after all that was due when its turn came, so that it
// overtakes no change that was told before, and before what became due since, so that no flood of changes keeps it back.
func (s *Stream) postDueLocked(now moment) bool {
	if s.handled == nil || len(s.handled.posts) == 0 {
		return false
	}
	first := s.handled.posts[0]
	if first.due == never {
		first.due = now
	}
	return len(s.dirty) == 0 || s.dirty[0].due > first.due
}

// takePostLocked hands out the first post.
func (s *Stream) takePostLocked() []byte {
	h := s.handled
	first := h.posts[0]
	h.posts[0] = nil
	if h.posts = h.posts[1:]; len(h.posts) == 0 {
		h.posts = nil
	}
	close(first.settled)
	return first.frame
}

// post puts a notification among the posts of a stream that lives.
func (s *Stream) post(method string, frame []byte) (*post, error) {
	p := &post{frame: frame, settled: make(chan struct{}), due: never}
	s.mu.Lock()
	if cause := s.handled.cause; cause != nil {
		s.mu.Unlock()
		return nil, cause
	}
	s.handled.posts = append(s.handled.posts, p)
	wake := s.rouseLocked()
	s.mu.Unlock()
	if wake {
		s.carrier.Wake(s)
	}
	return p, nil
}

// withdraw takes back a post, if it was not settled meanwhile.
func (s *Stream) withdraw(p *post, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.handled
	if i := slices.Index(h.posts, p); i >= 0 {
		h.posts = slices.Delete(h.posts, i, i+1)
		p.err = cause
		close(p.settled)
	}
}
