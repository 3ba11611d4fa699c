package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// listensTable is of all servers.
const listensTable = "Listens over HTTP/1.1"

// spareDescriptors are what server and load generator have open besides streams.
const spareDescriptors = 200

// watchedAlone is what a stream asks for that asks for the watched file, and nothing besides.
func watchedAlone(int) []string { return nil }

// inAll has streams ask for n URIs, the watched file's among them.
func inAll(n int) func(stream int) []string { return notes(n - 1) }

// notes is what streams ask for besides the watched file: n small files each, which overlap with those of other streams.
func notes(n int) func(stream int) []string {
	return func(stream int) []string {
		uris := make([]string, n)
		for i := range uris {
			uris[i] = uriBase + noteName((stream*7+i)%maxURIs)
		}
		return uris
	}
}

// listenStep measures what open listens take, for each number of them.
func (b *bench) listenStep(ctx context.Context, p peer) error {
	for _, n := range b.scale.listens {
		of := counted(n, "listen")
		add := func(what, unit string, value float64) {
			b.sheet.add(row{listensTable, of + ": " + what, unit}, p.name, value)
		}
		if err := b.listens(ctx, p, n, add); err != nil {
			b.sheet.fail(of+" of "+p.name, err)
		}
	}
	return nil
}

// listens measures what n open listens take.
func (b *bench) listens(ctx context.Context, p peer, n int, add adder) error {
	if n+spareDescriptors > b.descriptors {
		return fmt.Errorf("a process has %d descriptors", b.descriptors)
	}
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	c, opening, err := b.gather(ctx, p, ch, endpoint, n, watchedAlone)
	if err != nil {
		return err
	}
	defer c.close()
	add("CPU to open one", "µs", micro(opening.cpu)/float64(n))
	add("memory of one", "kB", float64(opening.memory)/1e3/float64(n))
	if n == b.scale.many() && b.round == 0 && b.scale.idle > 0 {
		if err := b.idle(ctx, ch, add); err != nil {
			return err
		}
	}
	if err := b.deliver(ctx, ch, c, add); err != nil {
		return err
	}
	closing, err := b.leave(ctx, ch, c)
	if err != nil {
		return err
	}
	add("CPU to close one", "µs", micro(closing.cpu)/float64(n))
	return nil
}

// gather opens n listens, and says what that took of the server.
func (b *bench) gather(ctx context.Context, p peer, ch *child, endpoint *url.URL, n int, uris func(int) []string) (c *crowd, took cost, err error) {
	b.tellOfLists(p)
	took, err = b.spent(ctx, ch, func() (err error) {
		c, err = openCrowd(ctx, p, endpoint, n, uris)
		return err
	})
	if err != nil && c != nil {
		c.close()
	}
	return c, took, err
}

// tellOfLists notes what is delivered to the listens of p, if that is not what it is to those of others.
func (b *bench) tellOfLists(p peer) {
	if p.lists {
		b.sheet.note("listens of %s are never told that a file has changed: it announces a change of the list instead", p.name)
	}
}

// leave leaves all listens, and says what that took of the server.
func (b *bench) leave(ctx context.Context, ch *child, c *crowd) (cost, error) {
	return b.spent(ctx, ch, func() error {
		c.close()
		return nil
	})
}

// idle measures a server whose listens are told nothing, for longer than the 15 s after which those of the product say something.
func (b *bench) idle(ctx context.Context, ch *child, add adder) error {
	before, err := b.rest(ctx, ch)
	if err != nil {
		return err
	}
	start := time.Now()
	sleep(ctx, b.scale.idle)
	after, err := ch.cpu()
	if err != nil {
		return err
	}
	add("idle", "% CPU", 100*float64(after-before.cpu)/float64(time.Since(start)))
	return nil
}

// tellWithin is how long a change may take to reach everybody.
const tellWithin = 20 * time.Second

// deliver tells all streams of changes, one after the other.
func (b *bench) deliver(ctx context.Context, ch *child, c *crowd, add adder) error {
	n := len(c.streams)
	var cpu, first, last []float64
	for range b.scale.deliveries {
		var took []time.Duration
		telling, err := b.spent(ctx, ch, func() (err error) {
			took, err = c.tell(ctx, b.dir, n, tellWithin)
			if err == nil && len(took) < n {
				err = fmt.Errorf("a change reached %d of %d within %v%s", len(took), n, tellWithin, c.losses())
			}
			return err
		})
		if err != nil {
			return err
		}
		cpu = append(cpu, micro(telling.cpu)/float64(n))
		first, last = append(first, milli(took[0])), append(last, milli(took[n-1]))
	}
	add("one change to all, CPU of each", "µs", median(cpu))
	add("the first is reached after", "ms", median(first))
	add("the last is reached after", "ms", median(last))
	add("the last is reached after, at worst", "ms", slices.Max(last))
	return nil
}
