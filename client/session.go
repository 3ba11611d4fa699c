package client

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// session is one connection, from the dialling to the loss. All fields belong to the goroutine of run, unless they say
// otherwise. What must wait for the server is sent by another goroutine, and goes on where its answer is taken.
type session struct {
	c        *Client
	opts     *Options
	log      *slog.Logger
	overHTTP bool

	conn     wire.Conn
	arrivals chan wire.Event // rendezvous of the receiver with run; closed by nobody
	posts    chan func()     // what others have run do; closed by nobody
	over     chan struct{}   // closed by close: nothing is taken any more
	out      *outbox
	workers  sync.WaitGroup // what close waits for

	calls     map[string]*call // that wait for their answer, by id
	asked     map[*ask]bool    // of users, under way
	notBefore time.Time        // when the server wants to be asked again, if it said so
	heard     time.Time        // when anything last arrived
	probing   bool             // the server is asked whether it is there
	owed      int              // answers to requests of the server, not sent yet
	eraDue    time.Time        // when server/discover has been unanswered for too long; zero: it does not matter

	loss     error // why run ends; nil while it does not
	graceful bool

	ready  bool // the era is known: requests may be sent
	legacy *legacy

	want       Want
	turn       int
	flags      *listening // that carries the flags, nil if none is open or asked for
	listens    map[string]*listening
	unanswered int             // of listens and legacy subscriptions: neither acknowledged nor refused
	refusals   int             // of listens since all were answered
	shunned    flagSet         // lists that the server refuses, so that they are not asked for again
	renew      bool            // all listens are to be replaced
	merged     bool            // they were, or are the first
	least      int             // how many listens there were then
	replacing  []*listening    // that others replace once those are acknowledged
	retired    []*listening    // that others have replaced
	retiring   bool            // whether some of them can be cancelled is being found out
	gone       map[string]bool // ids of listens that were cancelled
	unhonoured flagSet         // lists that the server does not announce
	unmet      map[string]bool // extensions that it does not honour; true: it refuses them, so that they are not asked for again

	followed  map[string]*follow
	uncovered []*follow       // neither covered nor asked for
	former    map[string]bool // URIs that were followed in this session: what still comes for them means nothing
	unsettled int             // of followed: what is known of them may not be true yet
	stale     bool            // the list changed after the last walk began
	walking   *walk           // of the session's own, nil if none is under way
	walked    bool            // the list is known in this session
	walks     int             // how often it was begun
	walkedAt  [16]time.Time   // when, the last times
	walkRest  time.Time       // until when it is not begun again
	putOff    int             // how often in a row since the server was busy
	compare   bool            // the next walk looks for changes of what is listed
	dirty     []*follow
	reading   int  // of fetches
	forgave   bool // a resource that was not read did not end the session

	polls   polls
	recount bool                  // what is polled is not what Status says
	warned  map[string]bool       // what was said once
	digests map[flagSet][32]byte  // of lists of tools and prompts, as last looked at
	looks   map[flagSet]*pollItem // at lists

	announce  bool // Live is to be told
	live      bool
	liveSince time.Time // when it was first told
}

func newSession(c *Client) *session {
	s := &session{
		c: c, opts: &c.opts, log: c.opts.Log, overHTTP: c.target.URL != "",
		arrivals: make(chan wire.Event), posts: make(chan func()), over: make(chan struct{}), out: newOutbox(c.opts.Timeout),
		calls: map[string]*call{}, asked: map[*ask]bool{}, listens: map[string]*listening{}, followed: map[string]*follow{},
		former: map[string]bool{}, unmet: map[string]bool{}, warned: map[string]bool{}, gone: map[string]bool{}, merged: true,
		digests: map[flagSet][32]byte{}, looks: map[flagSet]*pollItem{},
		heard: time.Now(),
	}
	return s
}

// run connects and follows until ctx ends (nil) or the connection is lost (why).
func (s *session) run(ctx context.Context) error {
	dialling, stop := context.WithTimeout(ctx, s.opts.Timeout)
	target := s.c.target.wire()
	target.Leave = s.opts.Close
	conn, err := s.c.dial(dialling, target, s.receive)
	stop()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	s.conn = conn
	s.workers.Go(s.out.run)
	s.want, s.turn = s.c.wanted()
	s.announce = true
	s.discover()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if s.loss == nil {
			s.step()
		}
		if s.loss != nil {
			return s.loss
		}
		timer.Reset(time.Until(s.deadline()))
		select {
		case e := <-s.arrivals:
			s.take(e)
		case do := <-s.posts:
			do()
		case a := <-s.openAsks():
			s.serve(a)
		case <-s.c.reset:
			s.rewant()
		case <-timer.C:
			s.expire(time.Now())
		case <-ctx.Done():
			return nil
		}
	}
}

// step starts what has become due.
func (s *session) step() {
	if !s.ready {
		return
	}
	s.cover()
	s.poll(time.Now())
	s.walkList()
	s.fetch()
	s.countPolled()
	s.tellLive()
}

// warnOnce says what one message of the server after the other may give reason for.
func (s *session) warnOnce(what string, args ...any) {
	if !s.warned[what] {
		s.warned[what] = true
		s.log.Warn(what, args...)
	}
}

// lose ends the session. The first reason counts.
func (s *session) lose(why error) {
	if s.loss == nil {
		s.loss = why
	}
}

// receive takes what arrives from the connection, whose goroutine waits until it is taken: a server is not heard faster
// than it is understood. run waits for nothing that would have to arrive.
func (s *session) receive(e wire.Event) {
	select {
	case s.arrivals <- e:
	case <-s.over:
	}
}

// post has run call do, unless the session is over.
func (s *session) post(do func()) {
	select {
	case s.posts <- do:
	case <-s.over:
	}
}

// close ends the connection and all that belongs to the session.
func (s *session) close() {
	close(s.over)
	s.out.close()
	for a := range s.asked {
		a.unserved()
	}
	s.c.setStatus(func(st *Status) { *st = Status{} })
	if s.conn != nil {
		if err := s.conn.Close(context.Background()); err != nil && s.loss == nil {
			s.log.Warn("the server did not end in order", "err", err)
		}
	}
	s.workers.Wait()
}
