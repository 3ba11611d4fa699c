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

// manyURIs is what listens with so many URIs each took.
type manyURIs struct {
	uris             int
	opening, closing cost // of all listens
}

// growURIs measures listens that ask for more and more URIs.
func (b *bench) growURIs(ctx context.Context, p peer) error {
	var few *manyURIs // those with the fewest
	for _, uris := range b.scale.uris {
		of := counted(uris, "URI")
		add := b.growing(p, urisTable, of)
		n := min(b.scale.urisAt, b.descriptors-spareDescriptors)
		m, err := b.urisOf(ctx, p, uris, n, add)
		switch {
		case err != nil:
			b.sheet.fail(fmt.Sprintf("listens with %s of %s", of, p.name), err)
		case few == nil:
			few = m
		default:
			more := float64((m.uris - few.uris) * n)
			add("each URI more: CPU to open", "µs", micro(m.opening.cpu-few.opening.cpu)/more)
			add("each URI more: memory", "B", float64(m.opening.memory-few.opening.memory)/more)
			add("each URI more: CPU to close", "µs", micro(m.closing.cpu-few.closing.cpu)/more)
		}
	}
	return nil
}

// urisOf measures n listens with so many URIs each, one of which changes, and a request beside them.
func (b *bench) urisOf(ctx context.Context, p peer, uris, n int, add adder) (*manyURIs, error) {
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return nil, err
	}
	defer ch.end()
	c, opening, err := b.gather(ctx, p, ch, endpoint, n, inAll(uris))
	if err != nil {
		return nil, err
	}
	defer c.close()
	of := counted(n, "listen") + ": "
	add(of+"CPU to open one", "µs", micro(opening.cpu)/float64(n))
	add(of+"memory of one", "kB", float64(opening.memory)/1e3/float64(n))
	if err := b.deliver(ctx, ch, c, func(what, unit string, value float64) { add(of+what, unit, value) }); err != nil {
		return nil, err
	}
	reads, err := b.smallReads(ctx, p, ch)
	if err != nil {
		return nil, err
	}
	add("read 1 KiB beside them: CPU", "µs", reads.cpuOfEach())
	closing, err := b.leave(ctx, ch, c)
	if err != nil {
		return nil, err
	}
	add(of+"CPU to close one", "µs", micro(closing.cpu)/float64(n))
	return &manyURIs{uris, opening, closing}, nil
}
