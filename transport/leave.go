package transport

import (
	"context"
	"slices"
	"time"
)

// How long nothing may progress after the end of input before what happens. "Servers SHOULD exit promptly when their
// standard input is closed" (basic/transports/stdio, "Shutdown"): within a second if work hangs, within two if nobody takes
// the output.
const (
	workGrace   = 700 * time.Millisecond  // no call is answered: the work on requests is told to end
	answerGrace = 150 * time.Millisecond  // nor after that: what is not answered is given up
	settleGrace = 100 * time.Millisecond  // after that: work that does not heed its context is left behind
	fleeGrace   = 950 * time.Millisecond  // the same when the output has failed, so that nothing was waited for yet
	writeGrace  = 1700 * time.Millisecond // no byte is taken: the write that blocks is left behind
	leaveTick   = 50 * time.Millisecond   // how often that is looked at
)

// How long anything may take after the end of the context, which demands to leave within two seconds. With settleGrace
// that leaves a third of a second to whoever calls ServeStdio.
const (
	demandedWork  = 1200 * time.Millisecond // the work on requests is told to end: what it says then can still be written
	demandedWrite = 1500 * time.Millisecond // what is not written is left behind
)

// leave ends in good order: it waits for the answers as long as there is progress, or until it is too late for a demand.
// It returns what ended the writing.
func (p *pipe) leave(demand <-chan struct{}, abandon context.CancelCauseFunc, written <-chan error) error {
	defer p.flee(abandon, settleGrace)
	d := departure{begun: time.Now()}
	p.w.leaving.Store(true)
	for _, s := range p.f.advance(phaseEnding) {
		s.stream.Complete()
	}
	signal(p.w.wake)
	tick := time.NewTicker(leaveTick)
	defer tick.Stop()
	for {
		select {
		case err := <-written:
			if err == nil && p.f.unwritten() {
				p.s.log.Warn(outOfTime)
			}
			return err
		case <-demand:
			demand = nil
			d.demanded = time.Now()
			p.w.hurry(d.demanded, d.demanded.Add(demandedWrite))
			p.f.advance(phaseClosed)
			signal(p.w.wake)
			continue
		case <-tick.C:
		}
		moved, blocked := p.w.progress()
		switch d.judge(time.Now(), p.f.lastAnswer(), moved, blocked) {
		case endWork:
			abandon(errLeaving)
		case giveUp:
			p.f.advance(phaseCut)
			signal(p.w.wake)
		case leaveStalled:
			p.s.log.Warn("output is stalled, leaving without having written everything")
			return nil
		case leaveLate:
			p.s.log.Warn(outOfTime)
			return nil
		}
	}
}

const outOfTime = "out of time, leaving without having written everything"

// departure judges what the lack of progress asks for. The zero value of each time is before all others.
type departure struct {
	begun    time.Time
	demanded time.Time // when the context ended
	told     time.Time // when the work was told to end
	cut      bool      // what is not answered was given up
}

type verdict uint8

const (
	stay         verdict = iota
	endWork              // tell the work to end
	giveUp               // give up what is not answered
	leaveStalled         // leave what is not written, nobody takes it
	leaveLate            // leave what is not written, there is no time for it
)

// judge is told when the last call was answered, when the output last moved, and whether a write is on its way. While
// one is, work may have to wait for the output, so that nothing but the output counts, or a demand.
func (d *departure) judge(now, answered, moved time.Time, blocked bool) verdict {
	if v := d.judgeDemand(now, moved, blocked); v != stay {
		return v
	}
	switch {
	case blocked:
		if now.Sub(latest(d.begun, moved)) >= writeGrace {
			return leaveStalled
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

// judgeDemand judges what a demand asks for, whatever the progress.
func (d *departure) judgeDemand(now, moved time.Time, blocked bool) verdict {
	waited := now.Sub(d.demanded)
	switch {
	case d.demanded.IsZero() || waited < demandedWork:
	case waited >= demandedWrite:
		if blocked && !moved.After(d.demanded) {
			return leaveStalled
		}
		return leaveLate
	case d.told.IsZero():
		d.told = now
		return endWork
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
