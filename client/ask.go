package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ask is what somebody who called Read or List waits for. done is closed when contents, resources, err and again are
// final.
type ask struct {
	ctx  context.Context
	uri  string // of Read
	list bool   // of List
	done chan struct{}

	contents  []Content
	resources []*Resource
	err       error
	again     bool // the connection was lost before there was an answer

	// Owned by the session.
	tries    int    // that failed
	outdated bool   // a change was announced meanwhile: the answer is not remembered
	told     bool   // of Read: a change was told meanwhile that nobody has looked at
	walked   bool   // of List: the session has walked the list meanwhile, which is remembered instead
	id       string // of the request under way
	forget   func() // that ctx is watched
}

// maxAsked is how many of them a session serves at a time.
const maxAsked = 8

// await has a served, by one session after the other until there is an answer.
func (c *Client) await(ctx context.Context, a *ask) error {
	for {
		select {
		case c.asks <- a:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.queue.over:
			return ErrStopped
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !a.again {
			return nil
		}
		*a = ask{ctx: a.ctx, uri: a.uri, list: a.list, done: make(chan struct{})}
	}
}

// openAsks is where asks come from, nil while no more can be served.
func (s *session) openAsks() <-chan *ask {
	if !s.ready || len(s.asked) >= maxAsked {
		return nil
	}
	return s.c.asks
}

func (s *session) serve(a *ask) {
	s.asked[a] = true
	stop := context.AfterFunc(a.ctx, func() {
		s.post(func() {
			if s.asked[a] {
				delete(s.asked, a)
				s.cancel(a.id)
			}
		})
	})
	a.forget = func() { stop() }
	finish := func(err error) {
		stop()
		if s.asked[a] {
			delete(s.asked, a)
			a.err = err
			close(a.done)
		}
	}
	s.try(a, finish)
}

func (s *session) try(a *ask, finish func(error)) {
	if a.list {
		s.serveList(a, finish)
		return
	}
	a.id = s.call("resources/read", map[string]any{"uri": a.uri}, readFactor*s.opts.Timeout, func(r reply) {
		got, fresh, err := understand(r)
		if s.tryAgain(a, err, finish) {
			return
		}
		if err != nil {
			finish(fmt.Errorf("resources/read: %w", err))
			return
		}
		s.lend(a.uri, got)
		if got.err != nil {
			finish(fmt.Errorf("resources/read: %w", got.err))
		} else {
			a.contents = got.contents
			if !a.outdated {
				s.c.cache.keep(a.uri, a.contents, time.Now().Add(fresh))
			}
			finish(nil)
		}
		if f := s.followed[a.uri]; a.outdated && f != nil { // after they have the answer, which is what it is about
			s.overtaken(f, a)
		}
	}).id
}

// maxTries is how often a request is sent whose connection fails while others are well.
const maxTries = 3

// tryAgain looks, after a failure of the connection, whether the server is there. If so it tries a once more; if not the
// session is lost, and the next one serves a.
func (s *session) tryAgain(a *ask, err error, finish func(error)) bool {
	var fault *Error
	var status *StatusError
	if a.tries++; err == nil || a.tries == maxTries || errors.Is(err, ErrStalled) || errors.As(err, &fault) || isTooLong(err) {
		return false
	}
	if errors.As(err, &status) && (s.legacy == nil || status.Status != http.StatusNotFound) { // "404": the session is gone
		return false
	}
	s.ask(func(lost error) {
		switch {
		case lost != nil:
			s.lose(lost)
		case s.asked[a]:
			s.try(a, finish)
		}
	})
	return true
}

func (s *session) serveList(a *ask, finish func(error)) {
	s.walk(a, func(found []*Resource, until time.Time, err error) {
		if s.tryAgain(a, err, finish) {
			return
		}
		if err != nil {
			finish(fmt.Errorf("resources/list: %w", err))
			return
		}
		a.resources = found
		s.c.view.look() // here, since they may go on only after the next walk
		s.lendList(found)
		s.stale = s.stale || a.outdated && s.want.List // the walk that came of the change may have been before this answer
		if !a.outdated && !a.walked {
			s.c.cache.keepList(found, until)
		}
		finish(nil)
		if a.walked {
			s.giveBackList()
		}
	})
}

// unserved sends a back, to be served by the next session.
func (a *ask) unserved() {
	a.forget()
	a.again = true
	close(a.done)
}
