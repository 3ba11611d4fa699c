package transport

import (
	"context"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// begin checks an accepted call and answers it, or has it answered.
func (p *pipe) begin(c *call) {
	err := c.refusal
	if err == nil {
		c.req, err = p.s.route(&c.msg, origin{session: p.session})
	}
	if err == nil && c.batch != nil && (c.req.modern || c.req.method.kind == handshake) {
		err = errNoBatch
	}
	if err != nil {
		p.refuse(c, err)
		return
	}
	switch kind := c.req.method.kind; {
	case kind == handshake:
		p.initialize(c)
	case p.alone && kind != ordered && kind != streamed && p.f.keep(c):
		p.keep(c) // what is ordered may have to wait for its turn, and a handler of listens takes as long as it likes
	case kind == inline:
		p.respond(p.work, c)
	default:
		p.start(c)
	}
}

// keep leaves a call that is all there is to do to who has read it: to wake another goroutine mostly wakes another core, which
// takes longer than the work on most calls.
func (p *pipe) keep(c *call) {
	p.prepare(c)
	c.kept = true
	p.kept = c
}

// serveHere serves a call that was kept, and writes the answer. It reports whether its caller still reads.
func (p *pipe) serveHere(c *call) bool {
	loan := p.relief.lend()
	p.serve(c)
	done := p.w.help()
	if !p.relief.back(loan) {
		return false
	}
	p.lines.idle = done
	return true
}

// start has a call served that may block.
func (p *pipe) start(c *call) {
	p.prepare(c)
	if p.f.start(c) {
		signal(p.w.wake)
	}
}

// prepare gives a call what it is served with.
func (p *pipe) prepare(c *call) {
	switch c.req.method.kind {
	case ordered:
		c.lane = &c.req.session.lane
	case reading:
		c.memory = share{of: p.s.mem, wait: p.f.park}
		c.req.memory = &c.memory
	}
	c.ctx.Context = p.work
}

// serve does the work on a call that may block.
func (p *pipe) serve(c *call) {
	defer c.ctx.finish()
	if c.req.method.kind == streamed {
		p.listen(c)
		return
	}
	p.respond(&c.ctx, c)
}

func (p *pipe) respond(ctx context.Context, c *call) {
	frame := newFrame()
	*frame, _ = p.s.respond(ctx, &c.req, *frame) // a pipe has no status beside the message
	p.deliver(c, frame)
}

func (p *pipe) refuse(c *call, err error) {
	frame := newFrame()
	*frame = p.s.refuse(p.work, *frame, c.id, err, c.req.modern)
	p.deliver(c, frame)
}

func (p *pipe) deliver(c *call, frame *[]byte) {
	if p.f.store(c, frame) && !c.kept {
		signal(p.w.wake)
	}
}

// listen opens the stream of a listen. It keeps silent until it is certain that no cancellation came first: then there
// is no acknowledgement either.
func (p *pipe) listen(c *call) {
	s := p.w.newCarrier(c)
	stream, err := p.s.openListen(c.ctx.made(), &c.req, s)
	if err != nil {
		p.refuse(c, err)
		return
	}
	if p.carry(s, stream) {
		p.w.unmute(s)
	}
}

// initialize opens a legacy session. A second one replaces the first. The stream keeps silent until the answer is on
// its way.
func (p *pipe) initialize(c *call) {
	version, err := negotiate(c.req.params)
	if err != nil {
		p.refuse(c, err)
		return
	}
	if p.session != nil { // first, since it counts among the open listens
		p.session.stream.Cancel()
		p.f.forget(p.voice)
		p.w.discard(p.voice)
		p.session = nil
	}
	s := p.w.newCarrier(nil)
	session, err := p.s.openSession(version, s)
	if err != nil {
		p.refuse(c, err)
		return
	}
	if !p.carry(s, session.stream) {
		return
	}
	p.session, p.voice = session, s
	c.opens = s
	frame := newFrame()
	*frame = p.s.appendInitialized(*frame, &c.req, version)
	p.deliver(c, frame)
}

// carry takes a stream that was opened in flight. It reports whether the stream lives: if it came too late it is
// cancelled.
func (p *pipe) carry(s *carrier, stream *listen.Stream) bool {
	s.stream = stream
	ok, finish := p.f.open(s)
	switch {
	case !ok:
		stream.Cancel()
		if s.call != nil {
			p.f.decline(s.call)
		}
	case finish:
		stream.Complete()
	}
	return ok
}
