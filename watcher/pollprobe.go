package watcher

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// probeRest times what a probe takes is the time until the next one, so that those who ask again and again for what is in
	// a large tree have a fifth of a processor at most. Files have a rest of their own, so that names need not wait for it, and
	// as much again.
	probeRest = 4
	// probeMost is how long the files of directories are looked at that seem to be as they were: some 10,000 of them.
	probeMost = 30 * time.Millisecond
)

// probes are looks at once, for those who want to know now: first at directories that have changed, then at the files in others.
type probes struct {
	next  *probe    // the one that those who come now wait for, nil if nobody does
	from  time.Time // it does not begin before
	files time.Time // no files are looked at before
	ended bool      // there will be none any more
}

// probe is what callers share who came before it began.
type probe struct {
	over    chan struct{} // closed when it is
	waiting atomic.Int32  // callers who have not given up
}

// probe returns when the pump has been told which names came and went before the call, or ctx ends; it asks as ask does. It tells
// which files changed, too, unless there are too many of them or they were looked at just now. Who has no time to wait for a
// probe to begin goes without.
func (p *poller) probe(ctx context.Context) {
	x := p.enter(ctx)
	if x == nil {
		return
	}
	select {
	case <-x.over:
	case <-ctx.Done():
		x.waiting.Add(-1)
	}
}

// enter adds a caller to those who wait for the next probe, and returns that, nil if there is none in time.
func (p *poller) enter(ctx context.Context) *probe {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dirs) == 0 || p.probes.ended {
		return nil
	}
	p.asked = true
	p.rouse()
	if until, limited := ctx.Deadline(); limited && until.Before(p.probes.from) {
		return nil
	}
	if p.probes.next == nil {
		p.probes.next = &probe{over: make(chan struct{})}
	}
	p.probes.next.waiting.Add(1)
	return p.probes.next
}

// due is when the next probe begins, zero when nobody waits for one.
func (x *probes) due() time.Time {
	switch {
	case x.next == nil:
		return time.Time{}
	case x.from.IsZero():
		return time.Unix(0, 0)
	}
	return x.from
}

// answer makes the probe that somebody waits for, when it is time.
func (p *poller) answer(ctx context.Context) {
	start := time.Now()
	p.mu.Lock()
	if due := p.probes.due(); due.IsZero() || start.Before(due) {
		p.mu.Unlock()
		return
	}
	x := p.probes.next
	p.probes.next = nil // who comes from now on may have changed what this one has passed
	files := !start.Before(p.probes.files)
	p.mu.Unlock()

	wanted := func() bool { return ctx.Err() == nil && x.waiting.Load() > 0 }
	others := p.probeNames(wanted)
	named := time.Now()
	if files {
		for _, d := range others {
			if !wanted() || time.Since(named) >= probeMost {
				break
			}
			p.visit(d)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.probes.from = now.Add(probeRest * named.Sub(start))
	if files {
		p.probes.files = now.Add(probeRest * now.Sub(named))
	}
	close(x.over)
}

// probeNames looks at the directories that have changed, and returns the others.
func (p *poller) probeNames(wanted func() bool) (others []*polled) {
	for _, d := range p.all() {
		if !wanted() {
			return nil
		}
		if p.touched(d) {
			p.visit(d)
		} else {
			others = append(others, d)
		}
	}
	return others
}

// endProbes lets go all who wait.
func (p *poller) endProbes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes.ended = true
	if p.probes.next != nil {
		close(p.probes.next.over)
		p.probes.next = nil
	}
}

// touched reports whether a directory says other things of itself than it did when it was last looked at.
func (p *poller) touched(d *polled) bool {
	now, err := p.disk.facts(d.abs, d.path == "")
	return err != nil || now.signature() != d.self
}
