package client

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	maxReading = 8 // fetches under way at a time
	readFactor = 3 // how much longer than other requests a read may take: it may be large
)

// fetch tells of what may have changed, or reads it, in the order in which that was learned. What no listen covers yet comes
// back when one does.
func (s *session) fetch() {
	for len(s.dirty) > 0 {
		f := s.dirty[0]
		if s.reads(f) && s.reading >= maxReading {
			return
		}
		s.dirty[0] = nil
		if s.dirty = s.dirty[1:]; len(s.dirty) == 0 {
			s.dirty = nil
		}
		f.queued = false
		switch {
		case !f.wanted() || s.followed[f.uri] != f || !f.covered():
		case s.reads(f):
			s.read(f)
		case f.settled:
			f.dirt = clean
			delete(s.c.lent.reads, f.uri)
			for a := range s.asked {
				a.told = a.told || a.uri == f.uri
			}
			s.c.queue.updated(f.uri, f.explicit)
		}
	}
}

// read asks what f holds. What changes meanwhile is asked for once more.
func (s *session) read(f *follow) {
	how := f.dirt
	f.dirt, f.reading = clean, true
	s.reading++
	s.call("resources/read", map[string]any{"uri": f.uri}, readFactor*s.opts.Timeout, func(r reply) {
		s.reading--
		got, fresh, err := understand(r)
		if err != nil {
			s.unreadable(f, how, r)
			return
		}
		f.reading, f.failed = false, 0
		s.dropRetry(f)
		s.took(f, got, how, fresh)
		if f.dirt != clean {
			s.soil(f, f.dirt)
		} else if got.err == nil {
			s.c.cache.keep(f.uri, got.contents, time.Now().Add(fresh))
		}
	})
}

// took compares what f holds with what was known of it.
func (s *session) took(f *follow, got *snapshot, how dirt, fresh time.Duration) {
	if s.followed[f.uri] != f || !f.wanted() {
		return
	}
	changed := false
	switch {
	case !s.reads(f): // any more, so that nobody would find out
		changed = true
	case s.want.Read:
		if before := s.c.view.snapshot(f.uri); before != nil {
			changed = !before.same(got)
		} else {
			changed = f.seen && f.digest != got.digest()
		}
		f.seen = false
		s.c.view.setContents(f.uri, got)
	default:
		digest := got.digest()
		changed = f.seen && digest != f.digest
		f.seen, f.digest = true, digest
	}
	added := f.fresh
	s.settle(f)
	changed = s.giveBack(f.uri, got) || changed
	if f.polled != nil {
		s.polls.again(f.polled, changed, fresh, s)
	}
	if !added && (changed || how == notified) {
		s.outdate(f.uri) // whoever is told is not to be answered with what was there before
		s.c.queue.updated(f.uri, f.explicit)
	}
}

// understand takes the answer to a read. An error that the server answered with is part of what is known, unless it says
// that the server is in trouble; err is why nothing is known.
func understand(r reply) (got *snapshot, fresh time.Duration, err error) {
	if fault := r.fault(); fault != nil && !r.isTrouble() {
		return &snapshot{err: fault}, 0, nil
	}
	if r.err != nil {
		return nil, 0, r.err
	}
	var result struct {
		ResultType string
		Contents   []struct {
			URI, MIMEType string
			Text          *string
			Blob          []byte
		}
		TTLMs lifetime
	}
	if err := json.Unmarshal(r.result, &result); err != nil {
		return nil, 0, err
	}
	if result.ResultType == "input_required" {
		return &snapshot{err: errAsksBack}, 0, nil
	}
	got = &snapshot{contents: make([]Content, len(result.Contents))}
	for i, part := range result.Contents {
		c := Content{URI: part.URI, MIMEType: part.MIMEType, Data: part.Blob}
		if part.Text != nil {
			c.Data, c.Text = []byte(*part.Text), true
		}
		got.contents[i] = c
	}
	return got, time.Duration(result.TTLMs), nil
}

var errAsksBack = errors.New("the server asks for input before it answers, and this client has none")

// digest stands for a snapshot that is not kept.
func (s *snapshot) digest() [32]byte {
	h := sha256.New()
	if s.err != nil {
		fmt.Fprintf(h, "error %s", s.err)
	}
	for _, c := range s.contents {
		fmt.Fprintf(h, "%q %q %t %d ", c.URI, c.MIMEType, c.Text, len(c.Data))
		h.Write(c.Data)
	}
	return [32]byte(h.Sum(nil))
}
