package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pipe is a Conn to a command: a message a line, both ways, on one channel.
type pipe struct {
	child *child
	inlet *inlet
	max   int

	out     chan *line    // rendezvous with the writer; closed by nobody
	closing chan struct{} // closed by Close: the writer ends
	closed  chan struct{} // closed by the writer at its end: nothing can be sent any more
	read    chan struct{} // closed by the reader at its end
	once    sync.Once     // of closing
	workers sync.WaitGroup
}

// line is a message on its way.
type line struct {
	bytes []byte
	sent  chan error // room for one
}

func startPipe(t *Target, in *inlet) (Conn, error) {
	c, err := startChild(t)
	if err != nil {
		return nil, err
	}
	p := &pipe{child: c, inlet: in, max: t.MaxMessage,
		out: make(chan *line), closing: make(chan struct{}), closed: make(chan struct{}), read: make(chan struct{})}
	p.workers.Go(p.reader)
	p.workers.Go(p.writer)
	p.workers.Go(func() { c.wait(p.read) })
	return p, nil
}

// writer writes whole lines, until Close or the end of the child, and closes the input of the child.
func (p *pipe) writer() {
	defer p.child.in.Close()
	defer close(p.closed)
	for {
		select {
		case l := <-p.out:
			_, err := p.child.in.Write(l.bytes)
			l.sent <- err
			if err != nil {
				return
			}
		case <-p.closing:
			return
		case <-p.child.exited:
			return
		}
	}
}

// reader hands over what the child says, and at last its end.
func (p *pipe) reader() {
	lines := newLineReader(p.child.out, p.max)
	for {
		text, long, err := lines.next()
		if long {
			p.inlet.give(Event{Err: tooLong(text, lines.tail, p.max)}, nil)
		} else {
			p.took(text)
		}
		if err != nil {
			close(p.read)
			p.inlet.give(Event{End: true, Err: p.why(err)}, nil)
			return
		}
	}
}

func (p *pipe) took(text []byte) {
	if isBlank(text) {
		return
	}
	for _, e := range take(text) {
		p.inlet.give(e, nil)
	}
}

// why tells why the output ended: by what the child left with, if it has left.
func (p *pipe) why(broken error) error {
	late := time.NewTimer(exitWithin)
	defer late.Stop()
	select {
	case <-p.child.exited:
		return p.child.exit
	case <-late.C:
	}
	if broken == io.EOF || errors.Is(broken, os.ErrClosed) {
		return errors.New("it closed its output and did not leave")
	}
	return broken
}

func isBlank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func (p *pipe) Send(ctx context.Context, message []byte) error {
	l := &line{bytes: append(message[:len(message):len(message)], '\n'), sent: make(chan error, 1)}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.out <- l:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return ErrClosed
	}
	select {
	case err := <-l.sent:
		if err != nil {
			return fmt.Errorf("%w: %v", ErrClosed, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Cancel sends what "the client MUST send" (basic/patterns/cancellation, "Transport-Specific Cancellation").
func (p *pipe) Cancel(ctx context.Context, id json.RawMessage) error {
	return p.Send(ctx, cancelled(id))
}

func cancelled(id json.RawMessage) []byte {
	text := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id...)
	return append(text, "}}"...)
}

func (p *pipe) Follow(ctx context.Context) error { return ctx.Err() }

func (p *pipe) Close(ctx context.Context) error {
	p.once.Do(func() { close(p.closing) })
	err := p.child.end(ctx.Done())
	p.workers.Wait()
	p.inlet.close()
	return err
}
