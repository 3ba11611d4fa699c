package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// crowd is many listens over HTTP at one server, each on a connection of its own, all for the watched file.
type crowd struct {
	lists   bool // they are told of changes of the list alone
	streams []*stream
	reading sync.WaitGroup // who read them

	change  atomic.Int64 // counts changes of the watched file
	mu      sync.Mutex   // guards the rest
	reached []time.Time  // when streams were first told of the last change
	enough  int          // how many of them somebody waits for
	lost    []error      // why streams ended that nobody left
	left    bool         // all are left
	all     chan struct{}
}

// stream is one listen.
type stream struct {
	conn  io.Closer
	heard int64 // the last change it was told of; its reader's alone
}

// perAddress is how many connections come from one loopback address: each address has ports of its own.
const perAddress = 4000

var (
	acknowledged = []byte("notifications/subscriptions/acknowledged")
	updated      = []byte("notifications/resources/updated")
	listChanged  = []byte("notifications/resources/list_changed")
	watchedURI   = []byte(uriBase + watchedFile)
)

var opened atomic.Int64 // streams that were ever opened

// nextAddress spreads connections over loopback addresses.
func nextAddress() net.Addr {
	block := int(opened.Add(1) / perAddress)
	return &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+block/250%250), byte(1+block%250))}
}

// openers is how many open streams at once.
const openers = 16

// openCrowd opens n listens and waits until each is acknowledged. uris are what stream i asks for, besides the watched file.
func openCrowd(ctx context.Context, p peer, endpoint *url.URL, n int, uris func(i int) []string) (*crowd, error) {
	return fillCrowd(ctx, &crowd{lists: p.lists}, n, func(i int) (*stream, *bufio.Reader, error) {
		asked := uris(i)
		return openStream(ctx, endpoint, p.listen(asked).post(endpoint, i+1), len(asked)+1, nextAddress())
	})
}

// fillCrowd opens n streams of a crowd. open returns one that may be told, and what is to be read of it.
func fillCrowd(ctx context.Context, c *crowd, n int, open func(i int) (*stream, *bufio.Reader, error)) (*crowd, error) {
	opened := make([]*stream, n)
	failed := make([]error, openers)
	var next atomic.Int64
	var opening sync.WaitGroup
	for worker := range openers {
		opening.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				s, body, err := open(i)
				if err != nil {
					failed[worker] = fmt.Errorf("listen %d: %w", i+1, err)
					return
				}
				opened[i] = s
				c.reading.Go(func() { c.read(s, body) })
			}
		})
	}
	opening.Wait()
	for _, s := range opened {
		if s != nil {
			c.streams = append(c.streams, s)
		}
	}
	if err := errors.Join(append(failed, ctx.Err())...); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// listen asks p for changes of the watched file, and of others.
func (p peer) listen(uris []string) message {
	uris = append([]string{string(watchedURI)}, uris...)
	if p.lists {
		return listenToList(uris...)
	}
	return listenTo(uris...)
}

// openStream opens a listen and reads its acknowledgement, of so many URIs.
func openStream(ctx context.Context, endpoint *url.URL, request []byte, uris int, from net.Addr) (*stream, *bufio.Reader, error) {
	conn, err := dial(ctx, endpoint, from, 1<<10)
	if err != nil {
		return nil, nil, err
	}
	body, err := acknowledge(conn, request, uris)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return &stream{conn: conn}, body, nil
}

// acknowledge asks for a listen, and returns what follows its acknowledgement of so many URIs.
func acknowledge(conn *connection, request []byte, uris int) (*bufio.Reader, error) {
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, err
	}
	r, err := conn.ask(request)
	if err != nil {
		return nil, err
	}
	if !r.events || r.status != 200 {
		said, _ := io.ReadAll(io.LimitReader(r.body, 300))
		return nil, fmt.Errorf("no stream, but the status %d and %q", r.status, said)
	}
	body := bufio.NewReaderSize(r.body, 512)
	for {
		line, err := wholeLine(body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(line, acknowledged) {
			if n := bytes.Count(line, []byte(`"`+uriBase)); n != uris {
				return nil, fmt.Errorf("of %d URIs %d are acknowledged: %.300q", uris, n, line)
			}
			return body, conn.SetDeadline(time.Time{})
		}
	}
}

// keptOfLine is how much of a line wholeLine keeps at least, in bytes: that is more than any acknowledgement here.
const keptOfLine = 1 << 20

// wholeLine reads a line, of which it keeps the beginning.
func wholeLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	kept := slices.Clone(line)
	for err == bufio.ErrBufferFull {
		line, err = in.ReadSlice('\n')
		if len(kept) < keptOfLine {
			kept = append(kept, line...)
		}
	}
	return kept, err
}

// read notes when a stream is told of a change of the watched file, until it ends.
func (c *crowd) read(s *stream, body *bufio.Reader) {
	for {
		line, err := wholeLine(body)
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.left {
				c.lost = append(c.lost, err)
			}
			return
		}
		if bytes.Contains(line, updated) && bytes.Contains(line, watchedURI) || c.lists && bytes.Contains(line, listChanged) {
			c.hear(s)
		}
	}
}

func (c *crowd) hear(s *stream) {
	now := time.Now()
	change := c.change.Load()
	if s.heard == change {
		return // said twice
	}
	s.heard = change
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = append(c.reached, now)
	if len(c.reached) == c.enough {
		close(c.all)
	}
}

// tell changes the watched file and waits until as many streams as are enough have been told of it, or until within is over. It
// returns how long it took to reach each, in ascending order.
func (c *crowd) tell(ctx context.Context, dir string, enough int, within time.Duration) ([]time.Duration, error) {
	c.mu.Lock()
	c.reached, c.enough, c.all = nil, enough, make(chan struct{})
	all := c.all
	c.mu.Unlock()
	start := time.Now()
	if err := overwrite(filepath.Join(dir, watchedFile), fmt.Sprintf("version %d\n", c.change.Add(1))); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-all:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	took := make([]time.Duration, len(c.reached))
	for i, at := range c.reached {
		took[i] = at.Sub(start)
	}
	slices.Sort(took)
	return took, nil
}

// losses tells of streams that the server has ended, in brackets, or nothing.
func (c *crowd) losses() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lost) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d streams have ended, one with %q)", len(c.lost), c.lost[0])
}

// close leaves all streams.
func (c *crowd) close() {
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	for _, s := range c.streams {
		_ = s.conn.Close()
	}
	c.reading.Wait()
}

// overwrite changes a file by one write, which is one event.
func overwrite(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt([]byte(text), 0)
	return errors.Join(err, file.Close())
}

// moreDescriptors lets this process and its children have as many descriptors as they may, and returns how many that are.
func moreDescriptors() (int, error) {
	const plenty = 100_000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	if limit.Max < plenty {
		raised := unix.Rlimit{Cur: plenty, Max: plenty}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil { // as root
			return plenty, nil
		}
	}
	limit.Cur = limit.Max
	return int(limit.Max), unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}
