package client

import (
	"container/heap"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pollItem is something that the server does not announce changes of: a resource or a list.
type pollItem struct {
	f     *follow // nil: a list
	flag  flagSet // of a list
	due   time.Time
	every time.Duration // before jitter, without regard to the ttl
	place int           // in polls, -1: a look is under way

	anyway  bool // though polling is turned off
	refused int  // how often nothing was to be had of a list, since the server was in trouble
}

// polls is a heap of what is to be looked at, the first due on top.
type polls []*pollItem

func (p polls) Len() int           { return len(p) }
func (p polls) Less(i, j int) bool { return p[i].due.Before(p[j].due) }
func (p polls) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].place, p[j].place = i, j
}

func (p *polls) Push(x any) {
	it := x.(*pollItem)
	it.place = len(*p)
	*p = append(*p, it)
}

func (p *polls) Pop() any {
	last := len(*p) - 1
	it := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	it.place = -1
	return it
}

func (p *polls) remove(it *pollItem) {
	if it.place >= 0 {
		heap.Remove(p, it.place)
	}
}

// leastPollGap is the time between two looks in all.
const leastPollGap = 20 * time.Millisecond

// leastRetry is the least time before what could not be read is read again, where nothing is polled.
const leastRetry = 2 * time.Second

// again has it looked at once more: soon if it changed, else after half as long again as the last time, and not while what the
// server said is fresh. "Implementations that do choose to poll MUST apply jitter and backoff" (server/utilities/caching).
func (p *polls) again(it *pollItem, changed bool, fresh time.Duration, s *session) {
	p.remove(it)
	if s.opts.Poll < 0 && !it.anyway {
		return
	}
	if changed || it.every == 0 {
		it.every = positive(s.opts.Poll, leastRetry)
	} else {
		it.every = min(it.every+it.every/2, s.opts.PollMax)
	}
	wait := max(it.every, time.Duration(len(*p))*leastPollGap)
	wait = max(wait, fresh) + time.Duration(s.c.random(int64(wait/4)+1))
	it.due = time.Now().Add(wait)
	heap.Push(p, it)
}

// poll looks at what is due.
func (s *session) poll(now time.Time) {
	for len(s.polls) > 0 && !s.polls[0].due.After(now) {
		it := heap.Pop(&s.polls).(*pollItem)
		switch {
		case it.f != nil && it.f.wanted():
			s.soil(it.f, suspect)
		case it.f != nil:
			s.polls.again(it, false, 0, s) // listed no more: it may come back
		case it.flag == list:
			s.stale = true
		default:
			s.look(it)
		}
	}
}

// pollResource follows f without the server's help. It is read at once, so that a later look has something to compare with.
func (s *session) pollResource(f *follow) {
	f.by = nil
	if f.polled == nil {
		f.polled = &pollItem{f: f, place: -1}
		s.recount = true
	}
	if f.wanted() {
		s.soil(f, suspect)
	}
}

// pollList follows a list without the server's help.
func (s *session) pollList(flag flagSet) {
	if s.looks[flag] != nil {
		return
	}
	it := &pollItem{flag: flag, place: -1}
	s.looks[flag] = it
	s.unhonoured |= flag
	s.recount = true
	for _, of := range lists {
		if of.flag == flag {
			s.log.Warn("the server does not announce changes of a list: it is looked at every so often", "list", of.name)
		}
	}
	if flag != list {
		s.look(it)
	}
}

// look walks a list of tools or prompts, of which only that it changed is told.
func (s *session) look(it *pollItem) {
	method, kind := "tools/list", ToolsChanged
	if it.flag == prompts {
		method, kind = "prompts/list", PromptsChanged
	}
	digest := sha256.New()
	seen := map[string]bool{} // cursors
	fresh := maxTTL
	var next func(cursor string)
	done := func() {
		if s.looks[it.flag] != it {
			return
		}
		sum := [32]byte(digest.Sum(nil))
		before, known := s.digests[it.flag]
		s.digests[it.flag] = sum
		changed := known && before != sum
		if changed {
			s.c.queue.changed(kind)
		}
		s.polls.again(it, changed, fresh, s)
	}
	next = func(cursor string) {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		s.call(method, params, s.opts.Timeout, func(r reply) {
			var page struct {
				Tools, Prompts json.RawMessage
				NextCursor     string
				TTLMs          lifetime
			}
			if r.isTrouble() {
				s.lookLater(it)
				return
			}
			if fault := r.fault(); fault != nil {
				fresh = 0
				fmt.Fprintf(digest, "error %s", fault) // such as that there are none
				done()
				return
			}
			if !s.succeeded(method, r, &page) {
				return
			}
			digest.Write(page.Tools)
			digest.Write(page.Prompts)
			fresh = min(fresh, time.Duration(page.TTLMs))
			if page.NextCursor != "" && !seen[page.NextCursor] && len(seen) < maxPages { // a circle is no reason to go round
				seen[page.NextCursor] = true
				next(page.NextCursor)
				return
			}
			done()
		})
	}
	next("")
}

// lookLater goes on after a look that says nothing of the list. If nothing is known of it yet, it is enough to know in the end
// that it cannot be had.
func (s *session) lookLater(it *pollItem) {
	if s.looks[it.flag] != it {
		return
	}
	it.refused++
	if _, known := s.digests[it.flag]; !known && (it.refused >= maxTries || s.opts.Poll < 0) {
		s.digests[it.flag] = [32]byte{}
	}
	s.polls.again(it, false, time.Until(s.notBefore), s)
}

// maxPages bounds a walk whose entries are not counted.
const maxPages = 10_000

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
	unhonoured := s.unhonouredNames()
	s.c.setStatus(func(st *Status) { st.Polled, st.PolledLists, st.Unhonoured = uris, names, unhonoured })
}
