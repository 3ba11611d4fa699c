package watcher

import (
	"context"
	"time"
)

const (
	passEvery = 4 * time.Second  // between the beginnings of two passes over all directories, so that one takes 5 s at most
	passIdle  = 28 * time.Second // up to which that is doubled while nothing changes and nobody asks, so that one takes 30 s at most
	sliceMost = 10 * time.Millisecond

	recentEvery = 400 * time.Millisecond // between looks at directories that changed lately, and no less than recentRest times their duration
	recentRest  = 4
	recentFor   = 10 * time.Second
	recentMost  = 64 // directories
)

// recent is the directories that changed lately.
type recent struct {
	at   map[*polled]time.Time // when
	next time.Time             // when to look at them again, zero when there are none
}

// note makes room by forgetting whichever changed longest ago.
func (r *recent) note(d *polled) {
	now := time.Now()
	if r.at == nil {
		r.at = map[*polled]time.Time{}
	}
	if r.next.IsZero() {
		r.next = now.Add(jitter(recentEvery))
	}
	r.at[d] = now
	if len(r.at) <= recentMost {
		return
	}
	oldest := d
	for d, t := range r.at {
		if t.Before(r.at[oldest]) {
			oldest = d
		}
	}
	delete(r.at, oldest)
}

// take returns those to look at, without any that has been quiet for long.
func (r *recent) take(now time.Time) (dirs []*polled) {
	for d, t := range r.at {
		if now.Sub(t) > recentFor {
			delete(r.at, d)
		} else {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// rest has those that remain wait.
func (r *recent) rest(took time.Duration) {
	r.next = time.Time{}
	if len(r.at) > 0 {
		r.next = time.Now().Add(max(jitter(recentEvery), recentRest*took))
	}
}

// pass goes over all directories, in slices with rests in between that are as long.
type pass struct {
	left    []*polled
	running bool
	again   bool // something was found
	began   time.Time
	every   time.Duration // until the next one begins
	resume  time.Time     // when the next slice, or the next pass, begins
}

// run looks at what is added until ctx ends.
func (p *poller) run(ctx context.Context) {
	s := pass{every: passEvery, began: time.Now()}
	s.resume = s.began.Add(jitter(passEvery))
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer p.endProbes()
	for {
		if next := p.next(&s); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
		p.answer(ctx)
		p.lookAtRecent(ctx)
		p.goOn(ctx, &s)
	}
}

// next is when there is something to do, zero when nothing is polled. What was begun comes to its end all the same.
func (p *poller) next(s *pass) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dirs) == 0 && !s.running && len(p.trouble) == 0 {
		return p.probes.due()
	}
	if p.asked && !s.running {
		s.every = passEvery
		s.resume = earliest(s.resume, s.began.Add(jitter(s.every)))
	}
	return earliest(p.probes.due(), p.recent.next, s.resume)
}

func (p *poller) lookAtRecent(ctx context.Context) {
	start := time.Now()
	p.mu.Lock()
	var dirs []*polled
	due := !p.recent.next.IsZero() && !start.Before(p.recent.next)
	if due {
		dirs = p.recent.take(start)
	}
	p.mu.Unlock()
	if !due {
		return
	}
	for _, d := range dirs {
		if ctx.Err() == nil {
			p.visit(d)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent.rest(time.Since(start))
}

// visit looks at d, and has it looked at again among the recent ones if there is a reason, which it reports.
func (p *poller) visit(d *polled) (again bool) {
	again = p.look(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	if again && p.dirs[d.path] == d {
		p.recent.note(d)
	}
	return again
}

// goOn does a slice of the pass, or begins one, when it is time.
func (p *poller) goOn(ctx context.Context, s *pass) {
	now := time.Now()
	if now.Before(s.resume) {
		return
	}
	if !s.running {
		*s = pass{left: p.all(), running: true, began: now, every: s.every}
	}
	for len(s.left) > 0 && time.Since(now) < sliceMost && ctx.Err() == nil {
		d := s.left[0]
		s.left = s.left[1:]
		s.again = p.visit(d) || s.again
	}
	if len(s.left) > 0 {
		s.resume = time.Now().Add(time.Since(now))
		return
	}
	p.passed()
	p.end(s)
}

// end decides when the next pass begins.
func (p *poller) end(s *pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.again || p.asked {
		s.every = passEvery
	} else {
		s.every = min(2*s.every, passIdle)
	}
	p.asked = false
	s.running, s.left = false, nil
	s.resume = s.began.Add(jitter(s.every)) // in the past after a long pass, which has had its rests
}
