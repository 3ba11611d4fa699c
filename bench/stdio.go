package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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
	defer ch.within(ctx, time.Minute)()
	if err := b.roundTrips(ctx, ch, add); err != nil {
		return err
	}
	if err := b.pipeline(ctx, ch, add); err != nil {
		return err
	}
	return b.hugeRead(ctx, ch, add)
}

// roundTrips asks for a file of 1 KiB again and again, each time after the answer.
func (b *bench) roundTrips(ctx context.Context, ch *child, add adder) error {
	request := append(read(smallFile).encode(2), '\n')
	said, err := ch.exchange(ctx, request)
	if err != nil {
		return err
	}
	length := len(said)
	if err := isText(smallContent).of(said); err != nil {
		return err
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
		said, err := ch.line()
		if err != nil {
			return err
		}
		times = append(times, time.Since(start))
		if len(said) != length {
			return fmt.Errorf("an answer is not the file: %.300q", said)
		}
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

// longID is the first of a million ids that are as long as each other, so that answers are, too.
const longID = 1_000_000

// inFlight is how many reads are asked for before the first is answered.
const inFlight = 64

// pipeline asks for reads without waiting for each.
func (b *bench) pipeline(ctx context.Context, ch *child, add adder) error {
	said, err := ch.ask(ctx, read(smallFile), longID)
	if err != nil {
		return err
	}
	length := len(said)
	if err := isText(smallContent).of(said); err != nil {
		return err
	}
	requests := make([][]byte, b.scale.reads)
	for i := range requests {
		requests[i] = append(read(smallFile).encode(longID+i), '\n')
	}
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
		for _, request := range requests {
			select {
			case tickets <- struct{}{}:
			case <-ctx.Done():
				written <- ctx.Err()
				return
			}
			if _, err := ch.in.Write(request); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for range b.scale.reads {
		said, err := ch.line()
		if err == nil && len(said) != length {
			err = fmt.Errorf("an answer is not the file: %.300q", said)
		}
		if err != nil {
			cancel()
			ch.kill() // who writes may wait for it
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
	add(fmt.Sprintf("reads of 1 KiB, %d in flight", inFlight), perSecond, n/took.Seconds())
	add(fmt.Sprintf("reads of 1 KiB, %d in flight: CPU of each", inFlight), "µs", micro(after-before)/n)
	return nil
}

// hugeRead asks for the largest file, and tells how much memory that took at its peak.
func (b *bench) hugeRead(ctx context.Context, ch *child, add adder) error {
	before, err := b.rest(ctx, ch)
	if err != nil {
		return err
	}
	if err := forgetPeak(ch.pid()); err != nil {
		return err
	}
	said, err := ch.ask(ctx, read(hugeText), longID)
	if err != nil {
		return err
	}
	if len(said) < b.scale.huge {
		return fmt.Errorf("the answer has %d bytes, which is not the file: %.300q", len(said), said)
	}
	after, err := ch.memory()
	if err != nil {
		return err
	}
	add(fmt.Sprintf("a read of %d MiB: memory grows by", b.scale.huge>>20), "MB", float64(after.peak-before.memory.now)/1e6)
	return nil
}
