package transport

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// InterceptedPipe is a pipe that a library serves and on which an [Interceptor] serves the listens. What is not taken passes
// byte for byte, in both directions, and whole lines stay whole. Make one with [Interceptor.Stdio], and close it when the
// library is done.
//
// The end of input reaches the library when every listen is completed and that is written, or a second later. It closes
// neither its input nor its output.
type InterceptedPipe struct {
	p       *pipe // serves what is taken
	in      io.Reader
	out     io.Writer
	abandon context.CancelCauseFunc // ends the work of p

	gate    baton         // that of the writer of p: whose turn it is to write to out
	spoken  atomic.Bool   // the writer of p runs, or has
	written chan struct{} // closed when it is done
	ending  sync.Once     // completes the listens

	taking baton   // guards the order of what is taken
	lib    foreign // what the library owes

	feeding sync.Once // starts feed, unless it is too late
	toward  passage   // what the library is to read
	up      sieve     // cuts the input into lines; belongs to feed

	writing baton       // guards down and claimed: the library may write from any goroutine
	down    sieve       // cuts what the library writes into lines
	claimed bool        // the gate is held, since a line of the library has not ended
	closed  atomic.Bool // the library writes no more
}

// completeGrace is how long the completion of all listens may take at the end. With settleGrace, once for work that does not
// heed its context and once for a write of the library, that is a second.
const completeGrace = 800 * time.Millisecond

// Stdio serves the listens of one client, whose messages come from in, one a line, and who reads out. Nobody else may use
// either from then on: the library reads [InterceptedPipe.Reader] and writes to [InterceptedPipe.Writer]. The official SDK
// is run with &mcp.IOTransport{Reader: pipe.Reader(), Writer: pipe.Writer()}, mark3labs/mcp-go with
// server.NewStdioServer(s).Listen(ctx, pipe.Reader(), pipe.Writer()).
func (i *Interceptor) Stdio(in io.Reader, out io.Writer) *InterceptedPipe {
	work, abandon := context.WithCancelCause(context.Background())
	x := &InterceptedPipe{
		p: newPipe(i.s, work, out), in: in, out: out, abandon: abandon,
		written: make(chan struct{}),
		taking:  make(baton, 1), writing: make(baton, 1),
	}
	x.gate = x.p.w.gate
	x.toward.changed.L = &x.toward.mu
	x.up = sieve{
		limit: i.s.opts.MaxLine + 1, // a carriage return is not part of the line
		judge: func(line []byte) bool { return !x.Take(line) },
		begun: func(beginning []byte) bool { return !x.takeLong(beginning) },
		pass:  func(p []byte, _ bool) error { return x.toward.add(p) },
	}
	x.down = sieve{limit: i.s.opts.MaxLine, judge: x.lets, begun: x.letsLong, pass: x.write}
	return x
}

// Reader is what the library reads in place of the input. The first Read starts to read the input, which then goes on
// whether the library reads or not, until there are 8 MiB that it has not read: so a listen or a cancellation waits neither
// for the library nor for the output. Its Close is that of the pipe.
func (x *InterceptedPipe) Reader() io.ReadCloser { return pipeReader{x} }

// Writer is what the library writes to in place of the output. A write returns when all whole lines in it are written, or
// the output has failed. The beginning of a line is held back until the rest has come, but for a line of more than
// InterceptorOptions.MaxLine, during which no listen says anything. Its Close is that of the pipe.
func (x *InterceptedPipe) Writer() io.WriteCloser { return pipeWriter{x} }

type pipeReader struct{ x *InterceptedPipe }

func (r pipeReader) Close() error { return r.x.Close() }

func (r pipeReader) Read(p []byte) (int, error) {
	r.x.feeding.Do(func() { go r.x.feed() })
	return r.x.toward.read(p)
}

type pipeWriter struct{ x *InterceptedPipe }

func (w pipeWriter) Close() error { return w.x.Close() }

func (w pipeWriter) Write(p []byte) (int, error) {
	x := w.x
	if !x.closed.Load() { // a write that was left behind has its turn for as long as it takes
		x.writing.Lock()
		defer x.writing.Unlock()
	}
	if x.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	return x.down.write(p)
}

// Close completes every listen, which takes a second at most, and then writes what the library has left of a line. From then
// on its reads and writes fail with [io.ErrClosedPipe] and what is taken is not answered. A read of the input that is under
// way is left behind, and so is a write that the output does not take. The error is that of the output.
func (x *InterceptedPipe) Close() error {
	x.finish()
	x.feeding.Do(func() {}) // what nobody has read by now is left to others
	x.toward.close()
	last := make(chan error, 1)
	go func() { last <- x.lastLine() }()
	limit := time.NewTimer(settleGrace)
	defer limit.Stop()
	select {
	case err := <-last:
		return err
	case <-limit.C:
		x.closed.Store(true)
		return nil // a write that the output does not take is under way, and is left behind
	}
}

// lastLine writes what the library has left of a line, when it is the library's turn to write.
func (x *InterceptedPipe) lastLine() (err error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if !x.closed.Load() {
		err = x.down.end()
		x.closed.Store(true)
	}
	if x.claimed { // nothing follows that could tear the line
		x.claimed = false
		x.gate.Unlock()
	}
	return err
}

// feed takes what is ours from the input and hands the rest to the library, until the input ends or the pipe is closed.
func (x *InterceptedPipe) feed() {
	buf := make([]byte, keptBuffer)
	for {
		n, err := readSome(x.in, buf)
		if _, closed := x.up.write(buf[:n]); closed != nil {
			return
		}
		if err != nil {
			_ = x.up.end() // if the pipe is closed nobody reads it
			x.finish()
			x.toward.end(err)
			return
		}
	}
}

// speak has what is taken answered, from the first time on.
func (x *InterceptedPipe) speak() {
	if !x.spoken.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer close(x.written)
		if err := x.p.w.run(); err != nil { // the client is gone, or has closed its end
			x.p.silence()
			x.abandon(errLeaving)
		}
	}()
}

// finish completes every listen and waits until that is written, or too long. Nothing is said after it.
func (x *InterceptedPipe) finish() {
	x.ending.Do(func() {
		for _, s := range x.p.f.advance(phaseEnding) {
			s.stream.Complete()
		}
		x.p.f.advance(phaseClosed)
		signal(x.p.w.wake)
		if x.spoken.Load() {
			limit := time.NewTimer(completeGrace)
			defer limit.Stop()
			select {
			case <-x.written:
			case <-limit.C:
				x.p.s.log.Warn("output is stalled or a listen is slow to open: leaving without having completed every listen")
			}
		}
		x.p.flee(x.abandon, settleGrace)
	})
}

// write gives whole lines of the library to the output, or a part of one: then no other line comes between.
func (x *InterceptedPipe) write(p []byte, open bool) error {
	if !x.claimed {
		x.gate.Lock()
	}
	x.claimed = open
	if !open {
		defer x.gate.Unlock()
	}
	if x.closed.Load() {
		return io.ErrClosedPipe
	}
	_, err := x.out.Write(p)
	return err
}
