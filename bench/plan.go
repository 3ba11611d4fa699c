package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// step is a measure of one server, which is started for it and ended after it.
type step struct {
	names  []string // by which -only knows it, besides those that it looks at itself
	serves func(peer) bool
	do     func(*bench, context.Context, peer) error
}

// stepWithin bounds what one step of one round takes.
const stepWithin = 5 * time.Minute

var steps = []step{
	{[]string{"requests", "discover", "read1k", "read1m", "binary1m", "list1000", "memory64m"}, always, (*bench).requestStep},
	{[]string{"listens"}, speaks, (*bench).listenStep},
	{[]string{"ways"}, onlyOurs, (*bench).wayStep},
	{[]string{"beside"}, speaks, (*bench).besideStep},
	{[]string{"stalled"}, speaks, (*bench).stalledStep},
	{[]string{"stdio"}, speaks, (*bench).stdioStep},
	{[]string{"growth"}, onlyOurs, (*bench).growthStep},
}

func always(peer) bool { return true }

// speaks reports whether p has the protocol.
func speaks(p peer) bool { return !p.files }

// measureNames are what -only takes.
func measureNames() (names []string) {
	for _, s := range steps {
		names = append(names, s.names...)
	}
	return names
}

// measure takes every step of every server in every round.
func (b *bench) measure(ctx context.Context, peers []peer) error {
	start := time.Now()
	for _, s := range steps {
		if !b.wants(s.names...) {
			continue
		}
		for b.round = range b.scale.rounds {
			for _, p := range peers {
				if !s.serves(p) {
					continue
				}
				fmt.Fprintf(b.log, "bench: after %d s: %s, round %d of %d: %s\n",
					int(time.Since(start).Seconds()), s.names[0], b.round+1, b.scale.rounds, p.name)
				within, cancel := context.WithTimeout(ctx, stepWithin)
				err := s.do(b, within, p)
				cancel()
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					b.sheet.note("%s of %s: %s", s.names[0], p.name, brief(err))
				}
			}
		}
	}
	return nil
}

// requestStep measures what requests take while nobody listens.
func (b *bench) requestStep(ctx context.Context, p peer) error {
	ch, err := b.cores.startHTTP(ctx, p.name, append(slices.Clone(p.http), b.dir), b.cores.server)
	if err != nil {
		return err
	}
	defer ch.end()
	if err := b.measureRequests(ctx, p, ch); err != nil {
		return err
	}
	return b.measureMemory(ctx, p, ch)
}
