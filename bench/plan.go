package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// step is a measure of one server, which is started for it and ended after it.
type step struct {
	name   string
	also   []string                  // by which -only knows it besides: its group, or parts that it looks at itself
	serves func(measures, peer) bool // what is wanted of it is measured of a server
	do     func(*bench, context.Context, peer) error
	within time.Duration // what it may take in one round
}

var steps = []step{
	{"requests", []string{"discover", "read1k", "read1k-rate", "read1m", "read1m-turns", "binary1m", "list1000", "memory64m"}, asks, (*bench).requestStep, 5 * time.Minute},
	{"listens", nil, speaks, (*bench).listenStep, 10 * time.Minute},
	{"ways", nil, onlyOurs, (*bench).wayStep, 10 * time.Minute},
	{"beside", nil, speaks, (*bench).besideStep, 5 * time.Minute},
	{"stalled", nil, speaks, (*bench).stalledStep, 5 * time.Minute},
	{"stdio", nil, onPipes, (*bench).stdioStep, 5 * time.Minute},
	{"growth-files", []string{"growth"}, onlyOurs, (*bench).growFiles, 15 * time.Minute},
	{"growth-listens", []string{"growth"}, onlyOurs, (*bench).growListens, 5 * time.Minute},
	{"growth-uris", []string{"growth"}, onlyOurs, (*bench).growURIs, 5 * time.Minute},
	{"growth-changes", []string{"growth"}, onlyOurs, (*bench).growChanges, 5 * time.Minute},
}

// measures are names of steps, or of their groups and parts, of which all are wanted if there are none.
type measures []string

// want reports whether a measure is to be taken, by any of its names.
func (m measures) want(names ...string) bool {
	return len(m) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(m, name) })
}

// takenOf reports whether anything that is wanted is measured of p.
func (m measures) takenOf(p peer) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return m.want(s.names()...) && s.serves(m, p) })
}

// asks reports whether p has something like one of the requests that are wanted.
func asks(m measures, p peer) bool {
	return !p.loop && m.want("memory64m", "requests") || slices.ContainsFunc(demands, func(d demand) bool { return d.isFor(m, p) })
}

// onPipes reports whether p serves a client that starts it.
func onPipes(_ measures, p peer) bool { return !p.files }

// speaks reports whether p has all of the protocol.
func speaks(_ measures, p peer) bool { return !p.files && !p.loop }

// onlyOurs reports whether p is the product.
func onlyOurs(_ measures, p peer) bool { return p.ours }

func (s step) names() []string { return append([]string{s.name}, s.also...) }

// measureNames are what -only takes.
func measureNames() (names []string) {
	for _, s := range steps {
		for _, name := range s.names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// measure takes every step of every server in every round. Servers take turns in who is first.
func (b *bench) measure(ctx context.Context, peers []peer) error {
	start := time.Now()
	for _, s := range steps {
		if !b.only.want(s.names()...) {
			continue
		}
		served := slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return !s.serves(b.only, p) })
		for b.round = range b.scale.rounds {
			for _, p := range served {
				fmt.Fprintf(b.log, "bench: after %d s: %s, round %d of %d: %s\n",
					int(time.Since(start).Seconds()), s.name, b.round+1, b.scale.rounds, p.name)
				within, cancel := context.WithTimeout(ctx, s.within)
				err := s.do(b, within, p)
				cancel()
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					b.sheet.fail(s.name+" of "+p.name, err)
				}
			}
			slices.Reverse(served)
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
	b.measureRequests(ctx, p, ch)
	return b.measureMemory(ctx, p, ch)
}
