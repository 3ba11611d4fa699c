package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crowd are clients that listen, each in a connection of its own. They speak HTTP themselves: an http.Client for each would
// take more of the machine than the server.
type crowd struct {
	s     *webServer
	conns []net.Conn

	told    chan time.Time // when a client has heard that something was updated; never closed
	readers sync.WaitGroup
	// completed are the clients whose stream was completed and then ended in good order.
	completed atomic.Int32
}

// dial makes a connection. Of what it does not read the kernel keeps about buffer bytes, or what it likes if that is 0.
func (s *webServer) dial(buffer int) (net.Conn, error) {
	at, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", at.Host, patience)
	if err == nil && buffer > 0 {
		err = conn.(*net.TCPConn).SetReadBuffer(buffer)
	}
	return conn, err
}

// rawRequest is a modern request as it is sent.
func rawRequest(method string, params map[string]any) []byte {
	message, h := modern("1", method, params)
	var text bytes.Buffer
	fmt.Fprintf(&text, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", len(message))
	for name, value := range h {
		fmt.Fprintf(&text, "%s: %s\r\n", name, value)
	}
	fmt.Fprintf(&text, "\r\n%s", message)
	return text.Bytes()
}

func listenRequest(list bool, uris ...string) []byte {
	return rawRequest("subscriptions/listen", map[string]any{
		"notifications": map[string]any{"resourcesListChanged": list, "resourceSubscriptions": append([]string{}, uris...)}})
}

// openListen opens a listen and takes its acknowledgement.
func (s *webServer) openListen(request []byte) (net.Conn, *bufio.Reader, error) {
	conn, err := s.dial(0)
	if err != nil {
		return nil, nil, err
	}
	if _, err := conn.Write(request); err != nil {
		conn.Close()
		return nil, nil, err
	}
	lines, err := acknowledged(conn)
	if err != nil {
		conn.Close()
	}
	return conn, lines, err
}

// acknowledged takes the beginning of a stream and returns the rest.
func acknowledged(conn net.Conn) (*bufio.Reader, error) {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(answer.Body, 1<<10)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, `"method":"notifications/subscriptions/acknowledged"`) {
		return nil, fmt.Errorf("status %d, %q, %w", answer.StatusCode, first, err)
	}
	return lines, conn.SetReadDeadline(time.Time{})
}

// gather opens n listens, of which request makes the requests.
func (s *webServer) gather(n int, request func(i int) []byte) *crowd {
	s.t.Helper()
	c := &crowd{s: s, conns: make([]net.Conn, n), told: make(chan time.Time, n)}
	inParallel(n, func(i int) {
		conn, lines, err := s.openListen(request(i))
		if err != nil {
			s.t.Errorf("listen %d: %v", i, err)
			return
		}
		c.conns[i] = conn
		c.readers.Go(func() { c.read(lines) })
	})
	if s.t.Failed() {
		s.t.FailNow()
	}
	return c
}

// inParallel calls f for 0 to n-1, 32 at a time.
func inParallel(n int, f func(i int)) {
	var workers sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}

// read takes all that a stream says.
func (c *crowd) read(lines *bufio.Reader) {
	complete := false
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && complete:
			c.completed.Add(1)
			return
		case err != nil:
			return
		case bytes.Contains(line, []byte(`"method":"notifications/resources/updated"`)):
			c.told <- time.Now()
		case bytes.Contains(line, []byte(`"result":{"resultType":"complete"`)):
			complete = true
		}
	}
}

// heard waits until every client has heard of one change, and returns how long each took.
func (c *crowd) heard(since time.Time) []time.Duration {
	c.s.t.Helper()
	took := make([]time.Duration, 0, len(c.conns))
	late := time.After(patience)
	for len(took) < len(c.conns) {
		select {
		case at := <-c.told:
			took = append(took, at.Sub(since))
		case <-late:
			c.s.t.Fatalf("%d of %d streams have heard of the change", len(took), len(c.conns))
		}
	}
	return took
}

// leave has every client hang up, every second one with a reset.
func (c *crowd) leave() {
	for i, conn := range c.conns {
		hangUp(conn, i%2 == 0)
	}
	c.readers.Wait()
}

func hangUp(conn net.Conn, reset bool) {
	if reset {
		_ = conn.(*net.TCPConn).SetLinger(0) // of a connection that is being closed anyway
	}
	conn.Close()
}

// replace changes a file in one step, so that it is one change. spare is a path outside of what is served.
func replace(file, spare, text string) error {
	if err := os.WriteFile(spare, []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(spare, file)
}

// ask sends a request each time that every has passed, whatever has become of those before, and returns how long each answer
// took since its request was due. Requests are of the given kinds in turn.
func (s *webServer) ask(ctx context.Context, every time.Duration, kinds ...[]byte) []time.Duration {
	var (
		mu      sync.Mutex // guards took and idle
		took    []time.Duration
		idle    []*kept
		waiting sync.WaitGroup
	)
	begun := time.Now()
	for i := 0; ; i++ {
		due := begun.Add(time.Duration(i) * every)
		timer := time.NewTimer(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			waiting.Wait()
			for _, k := range idle {
				k.conn.Close()
			}
			return took
		}
		mu.Lock()
		var k *kept
		if last := len(idle) - 1; last >= 0 {
			k, idle = idle[last], idle[:last]
		}
		mu.Unlock()
		waiting.Go(func() {
			k, err := s.exchange(k, kinds[i%len(kinds)])
			if err != nil {
				s.t.Errorf("request %d: %v", i, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			idle = append(idle, k)
		})
	}
}

// kept is a connection that is kept for one request after the other.
type kept struct {
	conn net.Conn
	in   *bufio.Reader
}

// exchange sends a request and takes its answer, over a new connection if k is nil.
func (s *webServer) exchange(k *kept, request []byte) (*kept, error) {
	if k == nil {
		conn, err := s.dial(0)
		if err != nil {
			return nil, err
		}
		k = &kept{conn, bufio.NewReader(conn)}
	}
	if err := k.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := k.conn.Write(request); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(k.in, nil)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"result":`))) {
		err = fmt.Errorf("status %d, %.200s", answer.StatusCode, body)
	}
	return k, err
}

// portion is the value below which so many percent are.
func portion(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

// milliseconds is for metrics.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median[T int | time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
