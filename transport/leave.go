package transport

import (
	"context"
	"slices"
	"time"
)

// How long nothing may progress after the end of input, or of the context, before what happens. "Servers SHOULD exit
// promptly when their standard input is closed" (basic/transports/stdio, "Shutdown"): within a second if work hangs,
// within two if nobody takes the output.
const (
	workGrace   = 700 * time.Millisecond  // no call is answered: the work on requests is told to end
	answerGrace = 150 * time.Millisecond  // nor after that: what is not answered is given up
	settleGrace = 100 * time.Millisecond  // after that: work that does not heed its context is left behind
	fleeGrace   = 950 * time.Millisecond  // the same when the output has failed, so that nothing was waited for yet
	writeGrace  = 1700 * time.Millisecond // no byte is taken: the write that blocks is left behind
	leaveTick   = 50 * time.Millisecond   // how often that is looked at
)

// leave ends in good order: it waits for the answers as long as there is progress. It returns what ended the writing.
func (p *pipe) leave(end phase, abandon context.CancelCauseFunc, written <-chan error) error {
	defer p.flee(abandon, settleGrace)
	d := departure{begun: time.Now()}
	p.w.leaving.Store(true)
	for _, s := range p.f.advance(end) {
		s.stream.Complete()
	}
	signal(p.w.wake)
	tick := time.NewTicker(leaveTick)
	defer tick.Stop()
	for {
		select {
		case err := <-written:
			return err
		case <-tick.C:
		}
		moved, blocked := p.w.progress()
		switch d.judge(time.Now(), p.f.lastAnswer(), moved, blocked) {
		case endWork:
			abandon(errLeaving)
		case giveUp:
			p.f.advance(phaseCut)
			signal(p.w.wake)
		case leaveNow:
			p.s.log.Warn("output is stalled, leaving without having written everything")
			return nil
		}
	}
}

// departure judges what the lack of progress asks for. The zero value of each time is before all others.
type departure struct {
	begun time.Time
	told  time.Time // when the work was told to end
	cut   bool      // what is not answered was given up
}

type verdict uint8

const (
	stay     verdict = iota
	endWork          // tell the work to end
	giveUp           // give up what is not answered
	leaveNow         // leave what is not written
)

// judge is told when the last call was answered, when the output last moved, and whether a write is on its way. While
// one is, work may have to wait for the output, so that nothing but the output counts.
func (d *departure) judge(now, answered, moved time.Time, blocked bool) verdict {
	switch {
	case blocked:
		if now.Sub(latest(d.begun, moved)) >= writeGrace {
			return leaveNow
		}
	case d.cut:
	case d.told.IsZero():
		if now.Sub(latest(d.begun, answered, moved)) >= workGrace {
			d.told = now
			return endWork
		}
	case now.Sub(latest(d.told, moved)) >= answerGrace:
		d.cut = true
		return giveUp
	}
	return stay
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// flee ends without regard to what is owed: all of it is written, or nobody takes it any more.
func (p *pipe) flee(abandon context.CancelCauseFunc, grace time.Duration) {
	p.silence()
	abandon(errLeaving)
	limit := time.NewTimer(grace)
	defer limit.Stop()
	for !p.f.resting() {
		select {
		case <-p.f.idle:
		case <-limit.C:
			p.s.log.Warn("leaving although requests are still being worked on")
			return
		}
	}
}

// silence cancels the streams that are left and lets no other be opened. A write that is still blocked is the last.
func (p *pipe) silence() {
	p.w.last.Store(true)
	for _, s := range p.f.advance(phaseGone) {
		s.stream.Cancel()
		p.f.forget(s)
	}
	p.f.drop()
	signal(p.w.wake)
}
