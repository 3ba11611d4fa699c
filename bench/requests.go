package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// demand is a request that is repeated over HTTP.
type demand struct {
	name    string // on the command line
	row     string
	ask     message
	expect  expected
	file    string   // what a file server is asked for instead; "" if nothing is like it
	content []byte   // of that file
	others  []demand // asked in turns with it; their answers are as long
	paced   bool     // asked at a fixed rate, not again as soon as it is answered
}

var demands = []demand{
	{name: "discover", row: "server/discover", ask: discover(), expect: speaksRevision},
	readOf("read1k", "read 1 KiB", smallFile, isText(smallContent), smallContent),
	atRate(readOf("read1k-rate", "read 1 KiB", smallFile, isText(smallContent), smallContent)),
	readOf("read1m", "read 1 MiB of text", largeText, isText(largeContent), largeContent),
	inTurns("read1m-turns", fmt.Sprintf("read 1 MiB of text, %d files in turn", manyLarge)),
	readOf("binary1m", "read 1 MiB of bytes", largeBinary, isBlob(binaryContent), binaryContent),
	{name: "list1000", row: "list, page of 1,000, warm", ask: list(""), expect: isFirstPage},
}

func readOf(name, row, file string, expect expected, content []byte) demand {
	return demand{name: name, row: row, ask: read(file), expect: expect, file: file, content: content}
}

// atRate has d asked at a fixed rate, the same of all: then no server is busy, and each waits for its next request, as most
// servers do most of the time.
func atRate(d demand) demand {
	d.paced = true
	return d
}

// inTurns reads large files one after the other, so that a server comes back to none that it still knows something of.
func inTurns(name, row string) demand {
	first := readOf(name, row, largeName(0), isText(largeContent), largeContent)
	for i := 1; i < manyLarge; i++ {
		first.others = append(first.others, readOf(name, row, largeName(i), isText(largeContent), largeContent))
	}
	return first
}

const requestsTable = "Requests over HTTP/1.1"

// isFor reports whether d is wanted, and p has something like it.
func (d demand) isFor(m measures, p peer) bool {
	return !p.loop && m.want(d.name, "requests") && (!p.files || d.file != "")
}

// request encodes what p is asked.
func (d demand) request(p peer, endpoint *url.URL) []byte {
	if p.files {
		return get(endpoint, d.file)
	}
	return d.ask.post(endpoint, 1)
}

// requests are that of d and those that it has turns with.
func (d demand) requests(p peer, endpoint *url.URL) [][]byte {
	all := [][]byte{d.request(p, endpoint)}
	for _, other := range d.others {
		all = append(all, other.request(p, endpoint))
	}
	return all
}

// check asks once and looks at the answer, of which it returns how long the body is. Others to the same request are as long.
func (d demand) check(ctx context.Context, p peer, endpoint *url.URL, request []byte) (length int64, err error) {
	said, length, err := once(ctx, endpoint, request)
	switch {
	case err != nil:
		return 0, err
	case p.files && !bytes.Equal(said, d.content):
		return 0, fmt.Errorf("the answer is not the file: %.300q", said)
	case p.files:
		return length, nil
	}
	return length, d.expect.of(said)
}

// load is what a server did for a while.
type load struct {
	requests int
	cpu      time.Duration // of the server
	wall     time.Duration
	took     []time.Duration // each request, sorted
}

// cpuOfEach is what one request took, in µs.
func (l load) cpuOfEach() float64 { return micro(l.cpu) / float64(l.requests) }

// throughput is how many requests there were in a second.
func (l load) throughput() float64 { return float64(l.requests) / l.wall.Seconds() }

// keepsUp reports whether so many requests a second were answered, but for a tenth, and one that was due at the end.
func (l load) keepsUp(rate int) bool {
	return float64(l.requests+1) >= 0.9*float64(rate)*l.wall.Seconds()
}

// quantile returns what the fraction q of the requests took at most: of a few requests p99 is the slowest.
func (l load) quantile(q float64) time.Duration {
	return l.took[max(0, int(math.Ceil(q*float64(len(l.took))))-1)]
}

// slowest is how long the slowest requests are waited for.
const slowest = 10 * time.Second

// effort is how a server is asked.
type effort struct {
	connections int
	rate        int           // requests a second, over all connections; 0: each asks again when it has its answer
	warm        time.Duration // for which it is asked before it is measured, which compilers at run time need
	while       time.Duration
}

// pressure asks a server the same, or one thing after the other, on several connections for a while. An answer whose body is not as
// long as it should be is an error.
func pressure(ctx context.Context, ch *child, requests [][]byte, length int64, e effort) (load, error) {
	ctx, cancel := context.WithTimeout(ctx, e.warm+4*e.while+30*time.Second)
	defer cancel()
	endpoint, err := url.Parse(ch.url)
	if err != nil {
		return load{}, err
	}
	var (
		asking   sync.WaitGroup
		measured atomic.Bool  // requests that end now count
		counted  atomic.Int64 // requests that counted
		turn     atomic.Int64 // requests that were begun
		mu       sync.Mutex   // guards all and failed
		all      []time.Duration
		failed   error
		over     = make(chan struct{}) // closed when nobody is to ask again
	)
	fail := func(err error) {
		if err == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
		cancel() // nobody waits for the others
	}
	when := atOnce(over)
	if e.rate > 0 {
		beats := make(chan time.Time) // closed by beat
		asking.Go(func() { fail(beat(e.rate, beats, over)) })
		when = oneAfterTheOther(beats)
	}
	next := func() []byte { return requests[turn.Add(1)%int64(len(requests))] }
	for range e.connections {
		asking.Go(func() {
			took, err := repeat(ctx, endpoint, when, next, length, &measured, &counted)
			fail(err)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	sleep(ctx, e.warm)
	before, err := ch.cpu()
	counted.Store(0)
	start := time.Now()
	measured.Store(true)
	sleep(ctx, e.while)
	// Requests that are slower than that are measured all the same, at least one on each connection.
	for counted.Load() < int64(e.connections) && ctx.Err() == nil && time.Since(start) < 4*e.while+slowest {
		sleep(ctx, e.while/10)
	}
	after, errAfter := ch.cpu()
	l := load{requests: int(counted.Load()), cpu: after - before, wall: time.Since(start)}
	measured.Store(false)
	close(over)
	asking.Wait()
	slices.Sort(all)
	l.took = all
	if err := errors.Join(err, errAfter, failed); err != nil {
		return load{}, err
	}
	if l.requests == 0 || len(l.took) == 0 {
		return load{}, fmt.Errorf("no request ended within %v", l.wall)
	}
	return l, nil
}

// repeat asks on one connection as long as there is more, and returns what each request took that counted, from when it was due.
func repeat(ctx context.Context, endpoint *url.URL, when pacer, next func() []byte, length int64, measured *atomic.Bool, counted *atomic.Int64) ([]time.Duration, error) {
	c, err := dial(ctx, endpoint, nil, 64<<10)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	end, _ := ctx.Deadline()
	if err := c.SetDeadline(end); err != nil {
		return nil, err
	}
	var took []time.Duration
	for {
		due, more := when()
		if !more {
			return took, nil
		}
		r, err := c.ask(next())
		if err != nil {
			return nil, err
		}
		if n, err := r.skip(); err != nil || n != length {
			return nil, errors.Join(err, fmt.Errorf("an answer has %d bytes, not the %d of one that was looked at", n, length))
		}
		if measured.Load() {
			counted.Add(1)
			took = append(took, time.Since(due))
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// press looks at one answer of p, which runs, and has it give the same for a while.
func (b *bench) press(ctx context.Context, p peer, ch *child, d demand) (load, error) {
	endpoint, err := url.Parse(ch.url)
	if err != nil {
		return load{}, err
	}
	requests := d.requests(p, endpoint)
	length, err := d.check(ctx, p, endpoint, requests[0])
	if err != nil {
		return load{}, err
	}
	e := effort{connections: b.scale.connections, warm: b.scale.warm, while: b.scale.while}
	if d.paced {
		e.rate = b.scale.rate
	}
	return pressure(ctx, ch, requests, length, e)
}

// measureRequests has p, which runs, answer each of the demands for a while.
func (b *bench) measureRequests(ctx context.Context, p peer, ch *child) {
	for _, d := range demands {
		if !d.isFor(b.only, p) {
			continue
		}
		name := d.row
		if d.paced {
			name += fmt.Sprintf(", %s a second", grouped(b.scale.rate))
		}
		l, err := b.press(ctx, p, ch, d)
		if err != nil {
			b.sheet.fail(name+" of "+p.name, err)
			continue
		}
		add := func(what, unit string, value float64) {
			b.sheet.add(row{requestsTable, name + ": " + what, unit}, p.name, value)
		}
		add("CPU", "µs", l.cpuOfEach())
		add("p50", "µs", micro(l.quantile(0.5)))
		add("p99", "µs", micro(l.quantile(0.99)))
		switch {
		case !d.paced:
			add("throughput", perSecond, l.throughput())
		case !l.keepsUp(b.scale.rate):
			b.sheet.note("%s of %s: it does not keep up, and its figures are those of a server that is always busy", name, p.name)
		}
	}
}

// measureMemory reads the largest file, twice at once, and tells how much memory that took at its peak.
func (b *bench) measureMemory(ctx context.Context, p peer, ch *child) error {
	if !b.only.want("memory64m", "requests") {
		return nil
	}
	endpoint, err := url.Parse(ch.url)
	if err != nil {
		return err
	}
	request := demand{ask: read(hugeText), file: hugeText}.request(p, endpoint)
	if err := forgetPeak(ch.pid()); err != nil {
		return err
	}
	before, err := ch.memory()
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	failures := make([]error, 2)
	for i := range failures {
		reading.Go(func() { failures[i] = readHuge(ctx, endpoint, request, b.scale.huge) })
	}
	reading.Wait()
	if err := errors.Join(failures...); err != nil {
		b.sheet.fail(fmt.Sprintf("two reads of %d MiB of %s", b.scale.huge>>20, p.name), err)
		return nil
	}
	after, err := ch.memory()
	if err != nil {
		return err
	}
	b.sheet.add(row{requestsTable, fmt.Sprintf("two reads of %d MiB at once: memory grows by", b.scale.huge>>20), "MB"}, p.name, float64(after.peak-before.now)/1e6)
	return nil
}

func readHuge(ctx context.Context, endpoint *url.URL, request []byte, size int) error {
	c, err := dial(ctx, endpoint, nil, 64<<10)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		return err
	}
	r, err := c.ask(request)
	if err != nil {
		return err
	}
	n, err := r.skip()
	if err == nil && n < int64(size) {
		err = fmt.Errorf("the answer has %d bytes, which is not the file", n)
	}
	return err
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func milli(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
