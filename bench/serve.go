package main

import (
	"context"
	"net/url"
	"slices"
	"time"
)

// startStdio starts p on a directory, and returns how long that took to its first answer.
func (b *bench) startStdio(ctx context.Context, p peer, dir string) (*child, time.Duration, error) {
	ch, err := b.cores.start(p.name, append(slices.Clone(p.stdio), dir), b.cores.all)
	if err != nil {
		return nil, 0, err
	}
	said, err := ch.ask(ctx, discover(), 1)
	took := time.Since(ch.started)
	if err == nil {
		err = speaksRevision.of(said)
	}
	if err != nil {
		ch.end()
		return nil, 0, err
	}
	return ch, took, nil
}

// serveHTTP starts p on the directory, and has it answer once, so that it has begun all that it does.
func (b *bench) serveHTTP(ctx context.Context, p peer) (*child, *url.URL, error) {
	ch, err := b.cores.startHTTP(ctx, p.name, append(slices.Clone(p.http), b.dir), b.cores.server)
	if err != nil {
		return nil, nil, err
	}
	endpoint, err := url.Parse(ch.url)
	if err == nil {
		for _, d := range demands {
			if _, err = d.check(ctx, p, endpoint, d.request(p, endpoint)); err != nil {
				break
			}
		}
	}
	if err != nil {
		ch.end()
		return nil, nil, err
	}
	return ch, endpoint, nil
}
