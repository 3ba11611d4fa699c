package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// How long nothing may progress after the end of input, or of the context, before what happens. "Servers SHOULD exit
// promptly when their standard input is closed" (basic/transports/stdio, "Shutdown"): within a second if work hangs,
// within two if nobody takes the output.
const (
	workGrace   = 700 * time.Millisecond  // no call is answered: the work on requests is told to end
	answerGrace = 150 * time.Millisecond  // nor after that: what is not answered is given up
	settleGrace = 100 * time.Millisecond  // work that does not heed its context is left behind
	fleeGrace   = 950 * time.Millisecond  // the same when the output has failed
	writeGrace  = 1700 * time.Millisecond // no byte is taken: the write that blocks is left behind
	leaveTick   = 50 * time.Millisecond   // how often that is looked at
)

// ServeStdio serves one client over a pipe, both eras mixed as it likes, until the input ends, ctx ends or the output
// fails. It then answers what was asked and completes every listen, as long as there is progress: it leaves a second after
// the last answer if work hangs, and two after the last byte was taken if the output stalls. It returns nil after the end of input or of ctx and when the client no longer takes the output, and
// any other error of in or out. It writes nothing but frames to out, and closes neither.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	work, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(errLeaving)
	p := newPipe(s, work, out)
	p.lines = newLineReader(in, s.opts.MaxLine)
	written := make(chan error, 1)
	go p.read()
	go func() { written <- p.w.run() }()

	var readErr, writeErr error
	select {
	case readErr = <-p.ended:
		writeErr = p.leave(phaseEnding, abandon, written)
	case <-ctx.Done():
		writeErr = p.leave(phaseClosed, abandon, written)
	case writeErr = <-written:
		p.flee(abandon)
	}
	if writeErr != nil && !isClosed(writeErr) {
		return fmt.Errorf("write output: %w", writeErr)
	}
	if readErr != nil && !isClosed(readErr) {
		return fmt.Errorf("read input: %w", readErr)
	}
	return nil
}

// isClosed reports whether an error means no more than that the other end has gone.
func isClosed(err error) bool {
	for _, gone := range [...]error{io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	// ERROR_BROKEN_PIPE and ERROR_NO_DATA.
	return runtime.GOOS == "windows" && (errors.Is(err, syscall.Errno(109)) || errors.Is(err, syscall.Errno(232)))
}

// pipe is one client of ServeStdio.
type pipe struct {
	s    *Server
	work context.Context // of all requests; ends when they are abandoned
	f    *inflight
	w    *writer

	// ended has a buffer of 1 for what ended the input. It is told as soon as that is known, and never closed.
	ended chan error

	// The rest belongs to read.
	lines   *lineReader
	session *session // the latest that initialize opened, nil before
	voice   *carrier // of its stream
}

func newPipe(s *Server, work context.Context, out io.Writer) *pipe {
	p := &pipe{s: s, work: work, ended: make(chan error, 1)}
	p.f = newInflight(s.opts.MaxInFlight, p.serve)
	p.w = newWriter(out, p.f)
	return p
}

// leave ends in good order: it waits for the answers as long as there is progress. It returns what ended the writing.
func (p *pipe) leave(end phase, abandon context.CancelCauseFunc, written <-chan error) error {
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
			p.silence()
			p.settle(abandon, settleGrace)
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
			p.silence()
			p.settle(abandon, settleGrace)
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

// flee ends when nobody takes the output any more.
func (p *pipe) flee(abandon context.CancelCauseFunc) {
	p.silence()
	p.settle(abandon, fleeGrace)
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

// settle waits for the work that nobody waits for any more.
func (p *pipe) settle(abandon context.CancelCauseFunc, grace time.Duration) {
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

// read takes messages in the order they arrive until the input ends, or until a cancellation has nothing to reach any more.
func (p *pipe) read() {
	defer signal(p.w.wake)
	defer p.f.advance(phaseClosed)
	for {
		line, err := p.lines.next()
		switch {
		case errors.Is(err, errLongLine):
			p.longLine(line)
		case err != nil:
			p.tellEnded(err)
			return
		case jsonrpc.IsBatch(line):
			p.receiveBatch(line)
		default:
			p.receive(line)
		}
		if p.f.over() {
			return
		}
	}
}

// tellEnded tells what ended the input, once.
func (p *pipe) tellEnded(err error) {
	select {
	case p.ended <- err:
	default:
	}
}

// readPause is how long nothing is read before reading goes on although no more is accepted. A client that is merely
// fast costs no read ahead.
const readPause = 100 * time.Millisecond

// wait returns when there is room for further calls. After a while it reads on meanwhile, so that the end of input does
// not wait for an output that stalls.
func (p *pipe) wait() {
	if !p.f.full() {
		return
	}
	pause := time.NewTimer(time.Until(p.lines.last.Add(readPause)))
	defer pause.Stop()
	var ahead <-chan arrival
	for p.f.full() {
		select {
		case <-p.f.room:
		case <-pause.C:
			ahead = p.lines.ahead()
		case a := <-ahead:
			p.lines.arrived(a)
			if a.err != nil {
				p.tellEnded(a.err)
			}
			ahead = p.lines.ahead()
		}
	}
}

// parse reads one message. It acts on a notification; the call is nil if no answer is owed. The call keeps nothing of data,
// which is the reader's, and may be one of a hundred in a line of which the rest is not weighed.
func (p *pipe) parse(data []byte) *call {
	m, failure := jsonrpc.Parse(data)
	if failure != nil {
		if m.IsNotification() || isResponse(data) {
			return nil
		}
		return refusedCall(m.ID, failure, len(data))
	}
	if m.IsNotification() {
		p.notice(&m)
	}
	if !m.IsRequest() { // the server asks nothing, so a response answers nothing
		return nil
	}
	m.Params = bytes.Clone(m.Params)
	return &call{id: m.ID, msg: m, weight: baseWeight + len(data)}
}

// refusedCall makes a call of which no more is known than that it is refused.
func refusedCall(id jsonrpc.ID, err error, size int) *call {
	return &call{id: id, refusal: err, weight: baseWeight + size}
}

// isResponse reports whether a message that cannot be parsed was meant as a response.
func isResponse(data []byte) bool {
	m, err := jsonrpc.Members(data)
	if err != nil {
		return false
	}
	_, request := m["method"]
	_, result := m["result"]
	_, failure := m["error"]
	return !request && (result || failure)
}

// receive takes a line that is one message.
func (p *pipe) receive(line []byte) {
	if c := p.parse(line); c != nil {
		p.accept(c)
	}
}

// receiveBatch takes a line that is an array.
func (p *pipe) receiveBatch(line []byte) {
	items, failure := jsonrpc.Batch(line)
	if failure == nil && !p.session.batches() {
		failure = jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: batches exist in sessions of revision 2025-03-26 only, send one message a line")
	}
	if failure != nil {
		p.accept(refusedCall(jsonrpc.ID{}, failure, 0))
		return
	}
	b := &batch{}
	for _, item := range items {
		if c := p.parse(item); c != nil {
			c.batch = b
			b.calls = append(b.calls, c)
		}
	}
	p.accept(slices.Clone(b.calls)...) // a cancellation takes calls out of the batch
}

// longLine refuses a line above the limit, of which it sees the beginning.
func (p *pipe) longLine(beginning []byte) {
	err := jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: the line is longer than %d bytes, its rest was skipped", p.s.opts.MaxLine)
	p.accept(refusedCall(leadingID(beginning), err, 0))
}

// accept takes what is owed an answer in flight, all of a batch or nothing, and answers it or has it served.
func (p *pipe) accept(calls ...*call) {
	p.wait()
	if !p.f.admit(calls...) {
		return
	}
	for _, c := range calls {
		p.begin(c)
	}
}

func (p *pipe) begin(c *call) {
	err := c.refusal
	if err == nil {
		c.req, err = p.s.route(&c.msg, origin{session: p.session})
	}
	if err == nil && c.batch != nil && (c.req.modern || c.req.method.kind == handshake) {
		err = jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: %s requests and initialize are not to be part of a batch", mcp.Modern)
	}
	if err != nil {
		p.refuse(c, err)
		return
	}
	switch c.req.method.kind {
	case inline:
		p.respond(p.work, c)
	case handshake:
		p.initialize(c)
	default:
		switch c.req.method.kind {
		case ordered:
			c.lane = &c.req.session.lane
		case reading:
			c.reads = true
			c.memory = share{of: p.s.mem, wait: p.f.park}
			c.req.memory = &c.memory
		}
		c.ctx, c.stop = context.WithCancel(p.work)
		if p.f.start(c) {
			signal(p.w.wake)
		}
	}
}

// serve does the work on a call in a goroutine of its own.
func (p *pipe) serve(c *call) {
	defer c.stop()
	if c.req.method.kind == streamed {
		p.listen(c)
		return
	}
	p.respond(c.ctx, c)
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
	if p.f.store(c, frame) {
		signal(p.w.wake)
	}
}

// listen opens the stream of a listen. It keeps silent until it is certain that no cancellation came first: then there
// is no acknowledgement either.
func (p *pipe) listen(c *call) {
	s := p.w.newCarrier(c)
	stream, err := p.s.openListen(c.ctx, &c.req, s)
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
	s := p.w.newCarrier(nil)
	session, err := p.s.openSession(version, s)
	if err != nil {
		p.refuse(c, err)
		return
	}
	if !p.carry(s, session.stream) {
		return
	}
	if p.session != nil {
		p.session.stream.Cancel()
		p.f.forget(p.voice)
		p.w.discard(p.voice)
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
	case finish:
		stream.Complete()
	}
	return ok
}

// notice acts on a notification. Only cancellations mean anything to the server; what is unknown or malformed is
// ignored (basic/patterns/cancellation, "Error Handling").
func (p *pipe) notice(m *jsonrpc.Message) {
	if m.Method != "notifications/cancelled" || m.Params == nil {
		return
	}
	fields, err := jsonrpc.Members(m.Params)
	if err != nil {
		return
	}
	id, ok := jsonrpc.ParseID(fields["requestId"])
	if !ok {
		return
	}
	if s := p.f.cancel(id); s != nil {
		s.stream.Cancel()
		p.w.discard(s)
	}
	signal(p.w.wake) // a batch may be complete, or nothing owed any more
}
