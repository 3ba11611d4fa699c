package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spareDescriptors are what server and load generator have open besides streams.
const spareDescriptors = 200

// settled waits until a server does nothing worth mention, 60 s at most, and returns its CPU time then. One that is kept from
// its core for a while by other processes has not settled.
func settled(ctx context.Context, ch *child) (time.Duration, error) {
	const (
		window = 50 * time.Millisecond
		busy   = time.Millisecond // of CPU, in one window
		enough = 4                // windows that are quiet, one after the other
	)
	last, err := ch.cpu()
	quiet := 0
	for range int(60 * time.Second / window) {
		if err != nil || ctx.Err() != nil {
			return 0, errors.Join(err, ctx.Err())
		}
		sleep(ctx, window)
		var now time.Duration
		now, err = ch.cpu()
		quiet++
		if now-last >= busy {
			quiet = 0
		}
		if quiet == enough {
			return now, err
		}
		last = now
	}
	return last, err
}

// noMore is what a stream asks for that asks for the watched file alone.
func noMore(int) []string { return nil }

// listenStep measures what open listens take, for each number of them.
func (b *bench) listenStep(ctx context.Context, p peer) error {
	for _, n := range b.scale.listens {
		if n+spareDescriptors > b.descriptors {
			b.sheet.note("%d listens: there are %d descriptors", n, b.descriptors)
			continue
		}
		if err := b.listensOf(ctx, p, n); err != nil {
			b.sheet.note("%d listens of %s: %s", n, p.name, brief(err))
		}
	}
	return nil
}

func (b *bench) listensOf(ctx context.Context, p peer, n int) error {
	if p.lists {
		b.sheet.note("listens of %s are never told that a file has changed: it announces a change of the list instead", p.name)
	}
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	add := func(what, unit string, value float64) {
		b.sheet.add(row{"Listens over HTTP/1.1", fmt.Sprintf("%d listens: %s", n, what), unit}, p.name, value)
	}
	beforeMemory, err := ch.memory()
	if err != nil {
		return err
	}
	before, err := settled(ctx, ch)
	if err != nil {
		return err
	}
	c, err := openCrowd(ctx, p, endpoint, n, noMore)
	if err != nil {
		return err
	}
	defer c.close()
	open, err := settled(ctx, ch)
	if err != nil {
		return err
	}
	add("CPU to open one", "µs", micro(open-before)/float64(n))
	m, err := ch.memory()
	if err != nil {
		return err
	}
	add("memory of one", "kB", float64(m.now-beforeMemory.now)/1e3/float64(n))
	if n == b.scale.idleAt && b.round == 0 {
		start := time.Now()
		sleep(ctx, b.scale.idle) // longer than the 15 s after which some say something
		idle, err := ch.cpu()
		if err != nil {
			return err
		}
		add("idle", "% CPU", 100*float64(idle-open)/float64(time.Since(start)))
	}
	if err := b.deliver(ctx, ch, c, add); err != nil {
		return err
	}
	before, err = settled(ctx, ch)
	if err != nil {
		return err
	}
	c.close()
	closed, err := settled(ctx, ch)
	if err != nil {
		return err
	}
	add("CPU to close one", "µs", micro(closed-before)/float64(n))
	return nil
}

// tellWithin is how long a change may take to reach everybody.
const tellWithin = 20 * time.Second

// deliver tells all streams of changes, one after the other.
func (b *bench) deliver(ctx context.Context, ch *child, c *crowd, add func(string, string, float64)) error {
	n := len(c.streams)
	var cpu, first, last []float64
	for range b.scale.deliveries {
		before, err := settled(ctx, ch)
		if err != nil {
			return err
		}
		took, err := c.tell(ctx, b.dir, n, tellWithin)
		if err != nil {
			return err
		}
		if len(took) < n {
			return fmt.Errorf("a change reached %d of %d within %v%s", len(took), n, tellWithin, c.losses())
		}
		after, err := settled(ctx, ch)
		if err != nil {
			return err
		}
		cpu = append(cpu, micro(after-before)/float64(n))
		first, last = append(first, milli(took[0])), append(last, milli(took[n-1]))
	}
	add("one change to all, CPU of each", "µs", median(cpu))
	add("the first is reached after", "ms", median(first))
	add("the last is reached after", "ms", median(last))
	add("the last is reached after, at worst", "ms", slices.Max(last))
	return nil
}

// urisOfEach is what a listen asks for besides the watched file, where requests are measured beside many.
const urisOfEach = 50

// besideStep measures a request beside many listens with many URIs each, and without them.
func (b *bench) besideStep(ctx context.Context, p peer) error {
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	add := func(what, unit string, value float64) {
		b.sheet.add(row{"Requests beside listens", what, unit}, p.name, value)
	}
	request := read(smallFile).post(endpoint, 1)
	alone, err := pressure(ctx, ch, request, b.scale.connections, b.scale.while)
	if err != nil {
		return err
	}
	n := min(4000, slices.Max(b.scale.listens), b.descriptors-spareDescriptors)
	before, err := settled(ctx, ch)
	if err != nil {
		return err
	}
	c, err := openCrowd(ctx, p, endpoint, n, someNotes)
	if err != nil {
		return err
	}
	defer c.close()
	open, err := settled(ctx, ch)
	if err != nil {
		return err
	}
	l, err := pressure(ctx, ch, request, b.scale.connections, b.scale.while)
	if err != nil {
		return err
	}
	of := fmt.Sprintf("%d listens with %d URIs each", n, urisOfEach)
	add("read 1 KiB without listens: CPU", "µs", micro(alone.cpu)/float64(alone.requests))
	add("read 1 KiB beside "+of+": CPU", "µs", micro(l.cpu)/float64(l.requests))
	add("read 1 KiB beside "+of+": p99", "µs", micro(l.quantile(0.99)))
	add(of+": CPU to open one", "µs", micro(open-before)/float64(n))
	before, err = settled(ctx, ch)
	if err != nil {
		return err
	}
	c.close()
	closed, err := settled(ctx, ch)
	if err != nil {
		return err
	}
	add(of+": CPU to close one", "µs", micro(closed-before)/float64(n))
	return nil
}

// someNotes are URIs that overlap with those of other streams.
func someNotes(i int) []string {
	uris := make([]string, urisOfEach)
	for j := range uris {
		uris[j] = uriBase + noteName((i*7+j)%1000)
	}
	return uris
}

// How the stalled reader is made to stall: it takes nothing, and by small segments and a small buffer the kernel keeps little for
// it. What everybody is told meanwhile is more than that.
const (
	aroundStalled = 199                   // readers that are well
	stalledPause  = 60 * time.Millisecond // more than a server that paces one URI may wait
	healthyWithin = 2 * time.Second
)

// stalledStep measures how many streams are told of a change while one beside them takes nothing.
func (b *bench) stalledStep(ctx context.Context, p peer) error {
	ch, endpoint, err := b.serveHTTP(ctx, p)
	if err != nil {
		return err
	}
	defer ch.end()
	uris := make([]string, urisOfEach)
	for i := range uris {
		uris[i] = uriBase + noteName(i)
	}
	c, err := openCrowd(ctx, p, endpoint, aroundStalled, func(int) []string { return uris })
	if err != nil {
		return err
	}
	defer c.close()
	stalled, err := openStalled(ctx, endpoint, p.listen(uris).post(endpoint, 1))
	if err != nil {
		return err
	}
	defer stalled.Close()
	if _, err := settled(ctx, ch); err != nil {
		return err
	}
	before, err := ch.memory()
	if err != nil {
		return err
	}
	for round := range b.scale.storm {
		for i := range uris {
			if err := overwrite(filepath.Join(b.dir, noteName(i)), fmt.Sprintf("note %d of round %d\n", i, round)); err != nil {
				return err
			}
		}
		sleep(ctx, stalledPause)
	}
	if _, err := settled(ctx, ch); err != nil {
		return err
	}
	after, err := ch.memory()
	if err != nil {
		return err
	}
	took, err := c.tell(ctx, b.dir, aroundStalled, healthyWithin)
	if err != nil {
		return err
	}
	if losses := c.losses(); losses != "" {
		b.sheet.note("one reader of 200 of %s takes nothing:%s", p.name, losses)
	}
	add := func(what, unit string, value float64) {
		b.sheet.add(row{"One reader of 200 takes nothing", what, unit}, p.name, value)
	}
	add(fmt.Sprintf("of the %d others, told of a change within 2 s", aroundStalled), "streams", float64(len(took)))
	add("memory grows by", "MB", float64(after.now-before.now)/1e6)
	return nil
}

func openStalled(ctx context.Context, endpoint *url.URL, request []byte) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536))
		})
		return errors.Join(err, failed)
	}}
	conn, err := d.DialContext(ctx, "tcp", endpoint.Host)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// serveHTTP starts p on the directory, and has it answer once, so that it has begun all that it does.
func (b *bench) serveHTTP(ctx context.Context, p peer) (*child, *url.URL, error) {
	ch, err := b.cores.startHTTP(ctx, p.name, append(slices.Clone(p.http), b.dir), b.cores.server)
	if err != nil {
		return nil, nil, err
	}
	endpoint, err := url.Parse(ch.url)
	if err == nil {
		for _, m := range []message{discover(), list(""), read(smallFile)} {
			if _, err = once(ctx, endpoint, m.post(endpoint, 1)); err != nil {
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
