package watcher

import (
	"context"
	"time"
)

const (
	// probeRest times what a probe takes is the time until the next one, so that somebody who asks again and again for what is
	// in a large tree does not have it looked at all the time. Names that are looked at within probeQuick need no rest, so that
	// in most trees everybody finds what they have just done.
	probeRest  = 10
	probeQuick = 10 * time.Millisecond
	// probeMost is how long the files of directories are looked at that seem to be as they were: some 10,000 of them.
	probeMost = 30 * time.Millisecond
)

// probes are looks at once, for those who want to know now: first at directories that have changed, then at the files in others.
type probes struct {
	waiting chan struct{} // of those who wait, closed when the probe is over; nil if nobody does
	from    time.Time     // before, nobody has another one
	files   time.Time     // before, only directories that have changed are looked at
	ended   bool          // there will be none any more
}

// probe returns when the pump has been told which names came and went before the call, and unless there are too many of them
// also which files changed, or ctx ends; it asks as ask does. A long probe that is only just over stands for another one.
func (p *poller) probe(ctx context.Context) {
	p.mu.Lock()
	p.asked = true
	if len(p.dirs) == 0 || p.probes.ended || time.Now().Before(p.probes.from) {
		p.mu.Unlock()
		return
	}
	if p.probes.waiting == nil {
		p.probes.waiting = make(chan struct{})
		p.rouse()
	}
	done := p.probes.waiting
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// answer makes the probe that somebody waits for.
func (p *poller) answer(ctx context.Context) {
	p.mu.Lock()
	done := p.probes.waiting
	p.probes.waiting = nil // who comes from now on waits for the next one
	p.mu.Unlock()
	if done == nil {
		return
	}
	start := time.Now()
	var others []*polled
	for _, d := range p.all() {
		switch {
		case ctx.Err() != nil:
		case !p.touched(d):
			others = append(others, d)
		case p.look(d):
			p.soon(d)
		}
	}
	named := time.Now()
	p.mu.Lock()
	rests := start.Before(p.probes.files)
	p.mu.Unlock()
	for _, d := range others {
		if !rests && ctx.Err() == nil && time.Since(start) < probeMost && p.look(d) {
			p.soon(d)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if named.Sub(start) > probeQuick {
		p.probes.from = now.Add(probeRest * now.Sub(start))
	} else if !rests {
		p.probes.files = now.Add(probeRest * now.Sub(start))
	}
	close(done)
}

// endProbes lets go all who wait.
func (p *poller) endProbes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes.ended = true
	if p.probes.waiting != nil {
		close(p.probes.waiting)
		p.probes.waiting = nil
	}
}

// touched reports whether a directory says other things of itself than it did when it was last looked at.
func (p *poller) touched(d *polled) bool {
	now, err := p.disk.facts(d.abs, d.path == "")
	d.mu.Lock()
	defer d.mu.Unlock()
	return err != nil || now.signature() != d.self
}
