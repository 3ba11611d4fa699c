package main

import (
	"context"
	"errors"
	"time"
)

// state is what a server has taken when it is at rest.
type state struct {
	cpu    time.Duration
	memory memory
}

// cost is what something took of a server.
type cost struct {
	cpu    time.Duration
	memory int64 // bytes that it has resident more than before
}

// spent has a server do something, and returns what that took, from when the server was at rest before to when it is again.
func (b *bench) spent(ctx context.Context, ch *child, do func() error) (cost, error) {
	before, err := b.rest(ctx, ch)
	if err != nil {
		return cost{}, err
	}
	if err := do(); err != nil {
		return cost{}, err
	}
	after, err := b.rest(ctx, ch)
	return cost{cpu: after.cpu - before.cpu, memory: after.memory.now - before.memory.now}, err
}

// restlessFor is how long a server is waited for that has not come to rest before.
const restlessFor = 5 * time.Second

// rest waits until a server does nothing worth mention. One that does not come to rest is taken as it is, and a note tells that.
// One that is kept from its core for a while by other processes seems to be at rest.
func (b *bench) rest(ctx context.Context, ch *child) (state, error) {
	const (
		window = 50 * time.Millisecond
		busy   = time.Millisecond // of CPU, in one window
		enough = 4                // windows that are quiet, one after the other
	)
	patience := b.scale.patience
	if ch.restless {
		patience = min(patience, restlessFor)
	}
	var s state
	last, err := ch.cpu()
	for quiet, end := 0, time.Now().Add(patience); quiet < enough && err == nil; last = s.cpu {
		if time.Now().After(end) {
			ch.restless = true
			b.sheet.note("%s does not come to rest in %v: what it does by itself is in the CPU of its listens and changes", ch.name, patience)
			break
		}
		sleep(ctx, window)
		s.cpu, err = ch.cpu()
		quiet++
		if s.cpu-last >= busy {
			quiet = 0
		}
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return s, err
	}
	s.memory, err = ch.memory()
	return s, err
}
