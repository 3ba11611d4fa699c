package main

import (
	"context"
	"fmt"
	"slices"
)

const besideTable = "Requests beside listens"

// urisOfEach is how many a listen asks for, where requests are measured beside many.
const urisOfEach = 50

// besideStep measures a request beside many listens with many URIs each, and without them.
func (b *bench) besideStep(ctx context.Context, p peer) error {
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	add := func(what, unit string, value float64) { b.sheet.add(row{besideTable, what, unit}, p.name, value) }
	alone, err := b.smallReads(ctx, p, ch)
	if err != nil {
		return err
	}
	n := min(b.scale.many(), b.descriptors-spareDescriptors)
	c, opening, err := b.gather(ctx, p, ch, endpoint, n, inAll(urisOfEach))
	if err != nil {
		return err
	}
	defer c.close()
	beside, err := b.smallReads(ctx, p, ch)
	if err != nil {
		return err
	}
	of := fmt.Sprintf("%s with %d URIs each", counted(n, "listen"), urisOfEach)
	add("read 1 KiB without listens: CPU", "µs", alone.cpuOfEach())
	add("read 1 KiB beside "+of+": CPU", "µs", beside.cpuOfEach())
	add("read 1 KiB beside "+of+": p99", "µs", micro(beside.quantile(0.99)))
	add(of+": CPU to open one", "µs", micro(opening.cpu)/float64(n))
	closing, err := b.leave(ctx, ch, c)
	if err != nil {
		return err
	}
	add(of+": CPU to close one", "µs", micro(closing.cpu)/float64(n))
	return nil
}

// smallReads has p, which runs, answer reads of a small file for a while.
func (b *bench) smallReads(ctx context.Context, p peer, ch *child) (load, error) {
	at := slices.IndexFunc(demands, func(d demand) bool { return d.file == smallFile })
	return b.press(ctx, p, ch, demands[at])
}
