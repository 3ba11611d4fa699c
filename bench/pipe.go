package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// askWithin is how long one answer on a pipe may take.
const askWithin = 30 * time.Second

// ask sends a request and returns the line that answers it, of a listen the acknowledgement.
func (ch *child) ask(ctx context.Context, m message, id int) ([]byte, error) {
	return ch.exchange(ctx, append(m.encode(id), '\n'))
}

func (ch *child) exchange(ctx context.Context, line []byte) ([]byte, error) {
	said, _, err := ch.exchangeAfter(ctx, line)
	return said, err
}

// unread asks for something small, and returns how many notifications the server has said before its answer that nobody has read.
func (ch *child) unread(ctx context.Context) (int, error) {
	_, before, err := ch.exchangeAfter(ctx, append(discover().encode(longID), '\n'))
	return before, err
}

// exchangeAfter tells as well how many notifications come before the answer.
func (ch *child) exchangeAfter(ctx context.Context, line []byte) (said []byte, before int, err error) {
	defer ch.within(ctx, askWithin)()
	if _, err := ch.in.Write(line); err != nil {
		return nil, 0, err
	}
	for ; ; before++ {
		said, err := ch.line()
		if err != nil {
			return nil, before, fmt.Errorf("no answer on standard output: %w; it said %.300q", err, ch.err.text())
		}
		if bytes.Contains(said, []byte(`"id"`)) || bytes.Contains(said, acknowledged) { // not another notification
			return said, before, nil
		}
	}
}

// listen opens a listen, of which everything must be acknowledged.
func (ch *child) listen(ctx context.Context, m message, id int) error {
	said, err := ch.ask(ctx, m, id)
	if err != nil {
		return err
	}
	if asked := bytes.Count(m.encode(id), []byte(`"`+uriBase)); !bytes.Contains(said, acknowledged) || bytes.Count(said, []byte(`"`+uriBase)) != asked {
		return fmt.Errorf("the server answers %.300q to a listen for %d URIs", said, asked)
	}
	return nil
}

// line returns one line of what the server says, which is valid until the next.
func (ch *child) line() ([]byte, error) {
	line, err := ch.out.ReadSlice('\n')
	if !errors.Is(err, io.EOF) && err != nil {
		kept := slices.Clone(line)
		rest, failed := ch.out.ReadBytes('\n')
		return append(kept, rest...), failed
	}
	return line, err
}

// block sets whether reads from the server, and writes to it, block in the kernel.
func (ch *child) block(blocking bool) error {
	for _, end := range []any{ch.in, ch.outPipe} {
		raw, err := end.(syscall.Conn).SyscallConn()
		if err != nil {
			return err
		}
		var failed error
		err = raw.Control(func(fd uintptr) { failed = unix.SetNonblock(int(fd), !blocking) })
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}
