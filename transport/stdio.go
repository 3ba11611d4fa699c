package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// ServeStdio serves one client over a pipe, both eras mixed as it likes, until the input ends, ctx ends or the output
// fails. It then answers what was asked and completes every listen, as long as there is progress: it leaves a second after
// the last answer if work hangs, and two after the last byte was taken if the output stalls. When ctx ends, also after the
// end of input, it leaves within two seconds even if there is progress. It returns nil after the end of input or of ctx
// and when the client no longer takes the output, and any other error of in or out. It writes nothing but frames to out,
// and closes neither.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	work, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(errLeaving)
	p := newPipe(s, work, out)
	p.lines = newLineReader(in, s.opts.MaxLine)
	p.relief = newRelief(p.read)
	defer p.relief.end()
	written := make(chan error, 1)
	go p.read()
	go func() { written <- p.w.run() }()

	var readErr, writeErr error
	select {
	case readErr = <-p.ended:
		writeErr = p.leave(ctx.Done(), abandon, written)
	case <-ctx.Done():
		writeErr = p.leave(ctx.Done(), abandon, written)
	case writeErr = <-written:
		p.flee(abandon, fleeGrace)
		select {
		case readErr = <-p.ended: // at the end of input the last answer may be written before anybody has looked
		default:
		}
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

	relief *relief // of who is in read; nil if the pipe reads nothing itself

	// The rest belongs to read, or to whoever hands over what was read.
	lines   *lineReader // nil if the pipe reads nothing itself
	alone   bool        // nothing has come after what was read last
	kept    *call       // to be served by who has read it, nil if there is none
	session *session    // the latest that initialize opened, nil before
	voice   *carrier    // of its stream
}

func newPipe(s *Server, work context.Context, out io.Writer) *pipe {
	p := &pipe{s: s, work: work, ended: make(chan error, 1)}
	p.f = newInflight(s.opts.MaxInFlight, p.serve)
	p.w = newWriter(out, p.f)
	return p
}

// read takes messages in the order they arrive until the input ends, or until a cancellation has nothing to reach any more, or
// until somebody else reads on.
func (p *pipe) read() {
	for more := true; more; {
		more = p.readOne()
		if c := p.kept; c != nil { // also if nothing is written any more: it counts as work until it is served
			p.kept = nil
			if !p.serveHere(c) {
				return
			}
		}
	}
	p.f.advance(phaseClosed)
	signal(p.w.wake)
}

// readOne takes the next message. It reports whether there is a reason to go on.
func (p *pipe) readOne() bool {
	line, err := p.lines.next()
	p.alone = false
	switch {
	case errors.Is(err, errLongLine):
		p.longLine(line)
	case err != nil:
		p.tellEnded(err)
		return false
	case jsonrpc.IsBatch(line):
		p.receiveBatch(line)
	default:
		p.alone = !p.lines.more()
		p.receive(line)
	}
	return !p.f.over()
}

// tellEnded tells what ended the input, once.
func (p *pipe) tellEnded(err error) {
	select {
	case p.ended <- err:
	default:
	}
}

// readPause is how long nothing is read before reading goes on although no more is accepted. A client that is merely
// fast costs no read ahead. It is also how often an input of which enough was read is asked whether it has ended.
const readPause = 100 * time.Millisecond

// wait returns when there is room for further calls. After a while it reads on meanwhile, if reading is the pipe's, so that
// the end of input does not wait for an output that stalls.
func (p *pipe) wait() {
	if !p.f.full() {
		return
	}
	if p.lines == nil {
		for p.f.full() {
			<-p.f.room
		}
		return
	}
	pause := time.NewTimer(time.Until(p.lines.last.Add(readPause)))
	defer pause.Stop()
	var ahead <-chan arrival
	for p.f.full() {
		select {
		case <-p.f.room:
		case <-pause.C:
			pause.Reset(readPause)
			ahead = p.lines.ahead()
			if ahead == nil && hungUp(p.lines.in) {
				p.tellEnded(io.EOF)
			}
		case a := <-ahead:
			p.lines.arrived(a)
			if a.err != nil {
				p.tellEnded(a.err)
			}
			ahead = p.lines.ahead()
		}
	}
}
