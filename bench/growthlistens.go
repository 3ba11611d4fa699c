package main

import (
	"context"
	"fmt"
)

// growListens measures more and more listens, for the watched file alone.
func (b *bench) growListens(ctx context.Context, p peer) error {
	for _, n := range b.scale.listens {
		of := counted(n, "listen")
		if err := b.listens(ctx, p, n, b.growing(p, crowdTable, of)); err != nil {
			b.sheet.fail("growth with "+of+" of "+p.name, err)
		}
	}
	return nil
}

// growURIs measures listens that ask for more and more URIs.
func (b *bench) growURIs(ctx context.Context, p peer) error {
	for _, uris := range b.scale.uris {
		of := counted(uris, "URI")
		if err := b.urisOf(ctx, p, uris, b.growing(p, urisTable, of)); err != nil {
			b.sheet.fail(fmt.Sprintf("listens with %s of %s", of, p.name), err)
		}
	}
	return nil
}

// urisOf measures listens with so many URIs each, one of which changes, and a request beside them.
func (b *bench) urisOf(ctx context.Context, p peer, uris int, add adder) error {
	n := min(b.scale.urisAt, b.descriptors-spareDescriptors)
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	c, opening, err := b.gather(ctx, p, ch, endpoint, n, notes(uris-1))
	if err != nil {
		return err
	}
	defer c.close()
	of := counted(n, "listen") + ": "
	listens, each := float64(n), float64(n*uris)
	add(of+"CPU to open one", "µs", micro(opening.cpu)/listens)
	add(of+"CPU to open one, of each URI", "µs", micro(opening.cpu)/each)
	add(of+"memory of one", "kB", float64(opening.memory)/1e3/listens)
	add(of+"memory of one, of each URI", "B", float64(opening.memory)/each)
	if err := b.deliver(ctx, ch, c, func(what, unit string, value float64) { add(of+what, unit, value) }); err != nil {
		return err
	}
	reads, err := b.smallReads(ctx, p, ch)
	if err != nil {
		return err
	}
	add("read 1 KiB beside them: CPU", "µs", reads.cpuOfEach())
	closing, err := b.leave(ctx, ch, c)
	if err != nil {
		return err
	}
	add(of+"CPU to close one", "µs", micro(closing.cpu)/listens)
	add(of+"CPU to close one, of each URI", "µs", micro(closing.cpu)/each)
	return nil
}
