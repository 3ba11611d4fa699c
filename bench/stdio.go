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

const stdioTable = "Standard input and output"

// stdioStep measures what a server takes that is started by its client and talks through pipes.
func (b *bench) stdioStep(ctx context.Context, p peer) error {
	add := func(what, unit string, value float64) { b.sheet.add(row{stdioTable, what, unit}, p.name, value) }
	var first, resident []float64
	for range b.scale.starts {
		ch, took, err := b.startStdio(ctx, p, b.dir)
		if err != nil {
			return err
		}
		m, err := ch.memory()
		ch.end()
		if err != nil {
			return err
		}
		first, resident = append(first, milli(took)), append(resident, float64(m.now)/1e6)
	}
	add("start to first answer", "ms", median(first))
	add("memory then", "MB", median(resident))

	ch, _, err := b.startStdio(ctx, p, b.dir)
	if err != nil {
		return err
	}
	defer ch.end()
	guard := time.AfterFunc(time.Minute, func() { _ = ch.command.Process.Kill() })
	defer guard.Stop()
	if err := b.roundTrips(ctx, ch, add); err != nil {
		return err
	}
	return b.pipeline(ctx, ch, add)
}

// startStdio starts p on a directory, and returns how long that took to its first answer.
func (b *bench) startStdio(ctx context.Context, p peer, dir string) (*child, time.Duration, error) {
	ch, err := b.cores.start(p.name, append(slices.Clone(p.stdio), dir), b.cores.all)
	if err != nil {
		return nil, 0, err
	}
	said, err := ch.ask(ctx, discover(), 1)
	took := time.Since(ch.started)
	if err == nil {
		_, err = parseAnswer(said)
	}
	if err != nil {
		ch.end()
		return nil, 0, err
	}
	return ch, took, nil
}

// askWithin is how long one answer on a pipe may take.
const askWithin = 30 * time.Second

// ask sends a request and returns the line that answers it, of a listen the acknowledgement.
func (ch *child) ask(ctx context.Context, m message, id int) ([]byte, error) {
	return ch.exchange(ctx, append(m.encode(id), '\n'))
}

func (ch *child) exchange(ctx context.Context, line []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = ch.command.Process.Kill() })
	defer stop()
	late := time.AfterFunc(askWithin, func() { _ = ch.command.Process.Kill() })
	defer late.Stop()
	if _, err := ch.in.Write(line); err != nil {
		return nil, err
	}
	for {
		said, err := ch.line()
		if err != nil {
			return nil, fmt.Errorf("no answer on standard output: %w; it said %.300q", err, ch.err.text())
		}
		if bytes.Contains(said, []byte(`"id"`)) || bytes.Contains(said, acknowledged) { // not another notification
			return said, nil
		}
	}
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

// roundTrips asks for a file of 1 KiB again and again, each time after the answer.
func (b *bench) roundTrips(ctx context.Context, ch *child, add func(string, string, float64)) error {
	request := append(read(smallFile).encode(2), '\n')
	said, err := ch.exchange(ctx, request)
	if err != nil {
		return err
	}
	if a, err := parseAnswer(said); err != nil || !isText(1<<10)(a) {
		return errors.Join(err, fmt.Errorf("the answer is not the file: %.300q", said))
	}
	// A read that blocks in the kernel wakes as soon as there is an answer; one that the runtime waits for, later.
	if err := ch.block(true); err != nil {
		return err
	}
	times := make([]time.Duration, 0, b.scale.reads/4)
	for range cap(times) {
		start := time.Now()
		if _, err := ch.in.Write(request); err != nil {
			return err
		}
		if _, err := ch.line(); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	if err := ch.block(false); err != nil {
		return err
	}
	slices.Sort(times)
	l := load{took: times}
	add("read 1 KiB, round trip p50", "µs", micro(l.quantile(0.5)))
	add("read 1 KiB, round trip p99", "µs", micro(l.quantile(0.99)))
	return nil
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

// inFlight is how many reads are asked for before the first is answered.
const inFlight = 64

// pipeline asks for reads without waiting for each.
func (b *bench) pipeline(ctx context.Context, ch *child, add func(string, string, float64)) error {
	tickets := make(chan struct{}, inFlight) // one for each request that is not answered
	written := make(chan error, 1)
	before, err := ch.cpu()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	go func() {
		for i := range b.scale.reads {
			select {
			case tickets <- struct{}{}:
			case <-ctx.Done():
				written <- ctx.Err()
				return
			}
			if _, err := ch.in.Write(append(read(smallFile).encode(100+i), '\n')); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for range b.scale.reads {
		if _, err := ch.line(); err != nil {
			cancel()
			return errors.Join(err, <-written)
		}
		<-tickets
	}
	took := time.Since(start)
	after, err := ch.cpu()
	if err := errors.Join(err, <-written); err != nil {
		return err
	}
	n := float64(b.scale.reads)
	add(fmt.Sprintf("reads of 1 KiB, %d in flight", inFlight), "1/s", n/took.Seconds())
	add(fmt.Sprintf("reads of 1 KiB, %d in flight: CPU of each", inFlight), "µs", micro(after-before)/n)
	return nil
}

// text returns what a process has said.
func (w *lineWatch) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.said)
}
