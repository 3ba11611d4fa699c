package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// walk follows the pages of resources/list. A cursor that the server does not take any more begins it anew ("the client
// SHOULD discard all cached pages and re-fetch from the beginning": server/utilities/caching).
type walk struct {
	s        *session
	list     []*Resource
	seen     map[string]bool
	until    time.Time // when the first of the pages is stale
	cursor   string
	cursors  map[string]bool // of this round, so that pages that lead in a circle are seen
	bytes    int             // of the entries
	restarts int
	busy     bool   // the last answer said no more than that the server is in trouble
	page     string // id of the request under way
	ask      *ask   // that it is for, nil: the session itself
	then     func(list []*Resource, until time.Time, err error)
}

const (
	maxRestarts  = 5         // of one walk
	maxListed    = 1_000_000 // resources in one list
	maxListBytes = 1 << 30   // of their entries
	maxEmpty     = 1000      // pages without a resource
)

var (
	errCircle   = errors.New("the pages of the list lead in a circle")
	errTooLong  = fmt.Errorf("the list has more than %d resources, or they take more than %d bytes", maxListed, maxListBytes)
	errNoEnd    = errors.New("the pages of the list go on and on, and there is nothing on them")
	errRestarts = errors.New("the server does not take its own cursors")
)

func (s *session) walk(a *ask, then func([]*Resource, time.Time, error)) *walk {
	w := &walk{s: s, ask: a, then: then}
	w.begin()
	return w
}

func (w *walk) begin() {
	w.list, w.seen, w.cursor, w.cursors, w.bytes = nil, map[string]bool{}, "", map[string]bool{}, 0
	w.until = time.Now().Add(maxTTL)
	w.next()
}

func (w *walk) next() {
	params := map[string]any{}
	if w.cursor != "" {
		params["cursor"] = w.cursor
	}
	w.page = w.s.call("resources/list", params, w.s.opts.Timeout, w.took).id
	if w.ask != nil {
		w.ask.id = w.page
	}
}

func (w *walk) took(r reply) {
	w.busy = r.isTrouble()
	if fault := r.fault(); fault != nil && w.cursor != "" && !w.busy {
		if w.restarts++; w.restarts > maxRestarts {
			w.then(nil, time.Time{}, fmt.Errorf("%w: %w", errRestarts, fault))
			return
		}
		w.begin()
		return
	}
	var page struct {
		Resources  []json.RawMessage
		NextCursor string
		TTLMs      lifetime
	}
	err := r.err
	if err == nil {
		err = json.Unmarshal(r.result, &page)
	}
	if err != nil {
		w.then(nil, time.Time{}, err)
		return
	}
	if until := time.Now().Add(time.Duration(page.TTLMs)); until.Before(w.until) {
		w.until = until
	}
	w.add(page.Resources)
	switch {
	case page.NextCursor == "":
		w.then(w.list, w.until, nil)
	case w.cursors[page.NextCursor]:
		w.then(nil, time.Time{}, errCircle)
	case len(w.list) > maxListed, w.bytes > maxListBytes:
		w.then(nil, time.Time{}, errTooLong)
	case len(w.cursors) > len(w.list)+maxEmpty:
		w.then(nil, time.Time{}, errNoEnd)
	default:
		w.cursor = page.NextCursor
		w.cursors[w.cursor] = true
		w.next()
	}
}

// add takes the entries of a page. A server without stable pages may give one twice when others come and go.
func (w *walk) add(entries []json.RawMessage) {
	for _, raw := range entries {
		w.bytes += len(raw)
		var e struct {
			URI, Name, Title, Description, MIMEType string
			Size                                    float64
			Annotations                             struct{ LastModified string }
		}
		if err := json.Unmarshal(raw, &e); e.URI == "" { // another member that makes no sense is as if it were not there
			w.s.warnOnce("the server lists what is no resource", "err", err)
			continue
		}
		if len(e.URI) > maxURIBytes {
			w.s.warnOnce("the server lists a URI that is too long: it is left out", "bytes", len(e.URI), "limit", maxURIBytes)
			continue
		}
		if !(e.Size > 0 && e.Size < 1<<63) {
			e.Size = 0
		}
		if w.seen[e.URI] {
			continue
		}
		w.seen[e.URI] = true
		w.list = append(w.list, &Resource{URI: e.URI, Name: e.Name, Title: e.Title, Description: e.Description,
			MIMEType: e.MIMEType, Size: int64(e.Size), LastModified: e.Annotations.LastModified, Raw: raw})
	}
}

// walkList walks the list again if it is stale, once its changes are announced or known not to be, and nothing else is
// under way. Before Live is told it is walked once: a list that changes all the time would put that off for ever.
func (s *session) walkList() {
	if !s.stale || s.walking != nil || !s.want.List || !s.listensTo(list) || len(s.uncovered) > 0 || s.walked && s.announce {
		return
	}
	began := time.Now()
	if s.walkDue().After(began) {
		return
	}
	s.stale = false
	s.walkedAt[s.walks%len(s.walkedAt)] = began
	s.walks++
	s.walking = s.walk(nil, func(found []*Resource, until time.Time, err error) {
		busy := s.walking.busy
		s.walking = nil
		now := time.Now()
		s.walkRest = now.Add(min(now.Sub(began), walkPace))
		var fault *jsonrpc.Error
		if errors.As(err, &fault) && fault.Code == jsonrpc.MethodNotFound {
			s.log.Warn("the server has no list of resources", "err", err)
			found, until, err = nil, time.Now(), nil
		}
		switch {
		case err != nil && busy && now.Before(s.notBefore) && s.putOff < maxTries:
			s.putOff++
			s.stale, s.walkRest = true, s.notBefore.Add(time.Duration(s.c.random(int64(s.notBefore.Sub(now)/10)+1)))
		case err != nil:
			s.lose(fmt.Errorf("resources/list: %w", err))
		default:
			s.putOff = 0
			s.learn(found, until)
		}
	})
}

// stopWalking gives up the walk under way: what it would find is not wanted, or may be older than what is listened to.
func (s *session) stopWalking() {
	if s.walking != nil {
		s.cancel(s.walking.page)
		s.walking = nil
	}
}

// walkPace bounds the walks of a list that changes all the time: no more in that time than there is room for in
// session.walkedAt, and after each a rest as long as it took, or as long as that.
const walkPace = time.Second

// walkDue is when the list may be walked again.
func (s *session) walkDue() time.Time {
	due := s.walkedAt[s.walks%len(s.walkedAt)].Add(walkPace)
	if s.walkRest.After(due) {
		return s.walkRest
	}
	return due
}

// listensTo reports whether it is known if the server announces what flag is for.
func (s *session) listensTo(flag flagSet) bool {
	return s.unanswered == 0 && (s.legacy != nil || s.shunned&flag != 0 || s.flags != nil && s.flags.flags&flag != 0)
}

// learn compares the list with what was known of it. Nothing is told of the first, and what is to be followed is told as
// added when it is.
func (s *session) learn(found []*Resource, until time.Time) {
	first := !s.walked
	s.walked = true
	compare := s.compare
	s.compare = false
	s.c.cache.dropList() // before it is found out who has looked
	before := s.c.view.setList(found, s.c.listKnown)
	old := make(map[string]*Resource, len(before))
	for _, r := range before {
		old[r.URI] = r
	}
	changed := false
	for _, r := range found {
		was := old[r.URI]
		delete(old, r.URI)
		changed = changed || was == nil
		s.list(r)
		if compare && was != nil && !bytes.Equal(was.Raw, r.Raw) {
			s.differs(r.URI)
		}
	}
	for _, r := range before {
		if old[r.URI] != nil {
			changed = true
			s.unlist(r.URI)
		}
	}
	s.giveBackList()
	for a := range s.asked {
		a.walked = a.walked || a.list
	}
	if !s.stale && s.c.view.hidesNone() { // else whoever is answered from there would know what is not noted as lent
		s.c.cache.keepList(found, until)
	}
	if it := s.looks[list]; it != nil {
		s.polls.again(it, changed, time.Until(until), s)
	}
	if first {
		s.forget()
	}
	s.shed()
}

// maxUnlisted is how many resources that are listed no more are followed on, if those that are wanted are fewer.
const maxUnlisted = 1000

// shed has what is not wanted any more given up when it is most of what is followed. Names that came and went would be
// followed for ever else.
func (s *session) shed() {
	unwanted := 0
	for _, f := range s.followed {
		if !f.wanted() {
			unwanted++
		}
	}
	s.renew = s.renew || unwanted > max(maxUnlisted, len(s.followed)/2)
}

// list takes a listed resource. It is told if it is new, or was when another session was lost before it was covered.
func (s *session) list(r *Resource) {
	f := s.followed[r.URI]
	isNew := s.c.view.isHidden(r.URI)
	if isNew {
		s.outdate(r.URI)
	}
	if !s.want.Listed {
		if isNew {
			s.c.queue.added(r, f != nil && f.explicit, s.show(r.URI))
		}
		return
	}
	if f == nil {
		f = s.newFollow(r.URI)
		if isNew || s.live || !s.c.listKnown {
			f.dirt = clean // nobody knows anything of it that could have changed
		}
	} else if !f.wanted() { // the name has come back
		s.unsettle(f)
		s.recount = s.recount || f.polled != nil
	}
	f.listed = true
	if !isNew {
		return
	}
	if f.settled {
		s.c.queue.added(r, f.explicit, s.show(r.URI))
		return
	}
	f.fresh = true // told when it is settled
}

// unlist takes that a resource is listed no more. The listen that covers it goes on: the name may come back.
func (s *session) unlist(uri string) {
	s.outdate(uri)
	f := s.followed[uri]
	hidden := s.c.view.isHidden(uri) && !s.isLent(uri)
	looks := s.show(uri)
	if s.c.listKnown && !hidden {
		s.c.queue.removed(uri, f != nil && f.explicit, looks)
	}
	if f == nil || !f.listed {
		return
	}
	f.listed, f.fresh = false, false
	if f.explicit {
		return
	}
	s.recount = s.recount || f.polled != nil
	f.dirt = clean
	s.settle(f)
	s.c.view.dropContents(uri)
}

// differs: the entry of a resource is another than in the list before, and nothing was told of it since then.
func (s *session) differs(uri string) {
	f := s.followed[uri]
	if f == nil || !f.wanted() || !f.settled || f.toldAt >= s.walks-1 {
		return
	}
	s.suspect(f)
}
