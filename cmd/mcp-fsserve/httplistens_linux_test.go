package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// many is how many clients listen in the benchmarks.
const many = 2000

// BenchmarkHTTPListens has 2,000 clients listen over HTTP, each in a connection of its own, to the built program.
//
//   - Stalled measures requests, 100 in a second, and how long a change takes to all clients, in turn without and with a
//     client that never reads what it is told all the time; and by how much the server grows while it is stalled.
//   - Leave has all clients go, and measures until the server has given back their descriptors.
//   - End measures from SIGTERM until the process has ended, each client told so, without and with a stalled one.
//   - Unread asks for 16 MiB, does not read them, and measures until the server has given up; others are served meanwhile.
//   - Churn opens and closes 20,000 listens.
//
// Memory is in kB that are resident. The load comes from the same machine, so that ratios and what is flat tell most.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench HTTPListens -benchtime 5x
func BenchmarkHTTPListens(b *testing.B) {
	program := built(b)
	b.Run("Stalled", func(b *testing.B) { benchmarkStalled(b, program) })
	b.Run("Leave", func(b *testing.B) { benchmarkLeave(b, program) })
	b.Run("End", func(b *testing.B) { benchmarkEnd(b, program, false) })
	b.Run("EndStalled", func(b *testing.B) { benchmarkEnd(b, program, true) })
	b.Run("Unread", func(b *testing.B) { benchmarkUnread(b, program) })
	b.Run("Churn", func(b *testing.B) { benchmarkChurn(b, program) })
}

// hall is a served directory of some hundred files, and what a crowd in it hears of.
type hall struct {
	*webServer
	dir, spare string
	changes    int
}

// busyName is long, so that what is said of it is.
var busyName = strings.Repeat("busy-directory-", 10)

func openHall(t testing.TB, program string, args ...string) *hall {
	t.Helper()
	dir := docsTree(t)
	for i := range 400 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%03d.md", i)), []byte(strings.Repeat("0123456\n", 128)), 0o666))
	}
	must(t, os.Mkdir(filepath.Join(dir, busyName), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, busyName, "f"), nil, 0o666))
	h := &hall{dir: dir, spare: filepath.Join(t.TempDir(), "spare")}
	h.webServer = startWebOf(t, program, append(args, dir)...)
	// What the first read takes belongs to the start.
	h.request(readRequest("a.md"))
	for late := time.Now().Add(patience); h.connections() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the server does not close the connection")
		}
	}
	return h
}

// request has a request answered.
func (h *hall) request(text []byte) {
	h.t.Helper()
	k, err := h.exchange(nil, text)
	must(h.t, err)
	k.conn.Close()
}

// visitor listens to the file that is changed and to two of its own, and half of the visitors to the list.
func visitor(i int) []byte {
	return listenRequest(i%2 == 0, "fs://docs/a.md", fmt.Sprintf("fs://docs/file-%03d.md", i%400), fmt.Sprintf("fs://docs/file-%03d.md", (i+1)%400))
}

// change replaces the file that all listen to.
func (h *hall) change() time.Time {
	h.changes++
	start := time.Now()
	must(h.t, replace(filepath.Join(h.dir, "a.md"), h.spare, fmt.Sprintf("change %d\n", h.changes)))
	return start
}

// stir changes the directory that a stalled client listens to, until ctx ends.
func (h *hall) stir(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		must(h.t, replace(filepath.Join(h.dir, busyName, "f"), h.spare+"-busy", fmt.Sprint(i)))
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func readRequest(name string) []byte {
	return rawRequest("resources/read", map[string]any{"uri": "fs://docs/" + name})
}

// round is what is measured in a few seconds.
type round struct{ requests, changes []time.Duration }

func (h *hall) round(c *crowd) (r round) {
	ctx, stop := context.WithTimeout(context.Background(), 4*time.Second)
	defer stop()
	stirred := make(chan struct{})
	go func() {
		defer close(stirred)
		h.stir(ctx)
	}()
	asked := make(chan []time.Duration, 1)
	go func() {
		asked <- h.ask(ctx, 10*time.Millisecond, rawRequest("server/discover", nil), rawRequest("resources/list", nil),
			readRequest("file-007.md"))
	}()
	for ctx.Err() == nil {
		r.changes = append(r.changes, c.heard(h.change())...)
		select {
		case <-ctx.Done():
		case <-time.After(400 * time.Millisecond):
		}
	}
	r.requests = <-asked
	<-stirred
	slices.Sort(r.requests)
	slices.Sort(r.changes)
	return r
}

func benchmarkStalled(b *testing.B, program string) {
	h := openHall(b, program, "--write-timeout", "10m")
	c := h.gather(many, visitor)
	h.round(c) // the first is not counted
	var without, with []round
	var usual, growth []int
	stalledRound := func() {
		client := h.stalled(c)
		full := h.link(client)
		before := h.resident()
		with = append(with, h.round(c))
		growth = append(growth, h.resident()-before)
		if l := h.link(client); l != full {
			b.Errorf("the client was not stalled all the time: %+v, before %+v", l, full)
		}
		before = h.descriptors()
		hangUp(client, true)
		h.untilAsFew(before - 1)
	}
	for first := true; b.Loop(); first = !first {
		if first {
			stalledRound()
		}
		before := h.resident()
		without = append(without, h.round(c))
		usual = append(usual, h.resident()-before)
		if !first {
			stalledRound()
		}
	}
	b.ReportMetric(0, "ns/op") // is that of the rounds
	b.ReportMetric(float64(median(usual)), "growth-kB")
	b.ReportMetric(float64(median(growth)), "growth-stalled-kB")
	compare(b, "request", without, with, func(r round) []time.Duration { return r.requests })
	compare(b, "change", without, with, func(r round) []time.Duration { return r.changes })
	c.leave()
	h.end(syscall.SIGTERM)
}

// compare reports the medians of the rounds, the greatest of all, and what a stalled client makes of them.
func compare(b *testing.B, what string, without, with []round, of func(round) []time.Duration) {
	for _, percent := range []int{50, 99} {
		at := func(rounds []round) time.Duration {
			var all []time.Duration
			for _, r := range rounds {
				all = append(all, portion(of(r), percent))
			}
			return median(all)
		}
		b.ReportMetric(milliseconds(at(without)), fmt.Sprintf("%s-p%d-ms", what, percent))
		b.ReportMetric(milliseconds(at(with)), fmt.Sprintf("%s-stalled-p%d-ms", what, percent))
		b.ReportMetric(float64(at(with))/float64(at(without)), fmt.Sprintf("%s-p%d-ratio", what, percent))
	}
	most := func(rounds []round) (most time.Duration) {
		for _, r := range rounds {
			most = max(most, portion(of(r), 100))
		}
		return most
	}
	b.ReportMetric(milliseconds(most(without)), what+"-max-ms")
	b.ReportMetric(milliseconds(most(with)), what+"-stalled-max-ms")
}

func benchmarkLeave(b *testing.B, program string) {
	h := openHall(b, program)
	before, threads, resident := h.descriptors(), processStatus(b, h.cmd.Process.Pid, "Threads"), h.resident()
	var took []time.Duration
	var open, left []int
	for b.Loop() {
		c := h.gather(many, visitor)
		open = append(open, h.resident())
		start := time.Now()
		c.leave()
		h.untilAsFew(before)
		took = append(took, time.Since(start))
		left = append(left, h.resident())
	}
	b.ReportMetric(0, "ns/op")
	report(b, "descriptors", took)
	b.ReportMetric(float64(resident), "start-kB")
	b.ReportMetric(float64(open[0]), "open-first-kB")
	b.ReportMetric(float64(open[len(open)-1]), "open-last-kB")
	b.ReportMetric(float64(left[0]), "left-first-kB")
	b.ReportMetric(float64(left[len(left)-1]), "left-last-kB")
	b.ReportMetric(float64(processStatus(b, h.cmd.Process.Pid, "Threads")-threads), "more-threads")
	h.end(syscall.SIGTERM)
}

func benchmarkEnd(b *testing.B, program string, stalled bool) {
	var took []time.Duration
	for b.Loop() {
		h := openHall(b, program)
		c := h.gather(many, visitor)
		if stalled {
			h.stalled(c)
		}
		start := time.Now()
		h.end(syscall.SIGTERM)
		took = append(took, time.Since(start))
		c.readers.Wait()
		if n := c.completed.Load(); n != many {
			b.Errorf("%d of %d streams were completed", n, many)
		}
		c.leave()
	}
	b.ReportMetric(0, "ns/op")
	report(b, "end", took)
}

// unread asks for 16 MiB, of which it reads nothing.
func (h *hall) unread() net.Conn {
	h.t.Helper()
	conn, err := h.dial(4 << 10)
	must(h.t, err)
	h.t.Cleanup(func() { conn.Close() })
	_, err = conn.Write(readRequest("large.md"))
	must(h.t, err)
	h.untilFull(conn, func() { h.request(rawRequest("server/discover", nil)) })
	return conn
}

func benchmarkUnread(b *testing.B, program string) {
	h := openHall(b, program, "--write-timeout", "3s")
	large(b, h.dir)
	var took, requests []time.Duration
	var held, left []int
	before, resident := h.descriptors(), h.resident()
	for b.Loop() {
		start := time.Now()
		conn := h.unread()
		held = append(held, h.resident())
		ctx, stop := context.WithCancel(context.Background())
		asked := make(chan []time.Duration, 1)
		go func() {
			asked <- h.ask(ctx, 10*time.Millisecond, readRequest("file-007.md"))
		}()
		h.untilGivenUp(conn, func() { time.Sleep(time.Millisecond) })
		took = append(took, time.Since(start))
		stop()
		requests = append(requests, <-asked...)
		conn.Close()
		h.untilAsFew(before)
		left = append(left, h.resident())
	}
	b.ReportMetric(0, "ns/op")
	report(b, "gone", took)
	report(b, "request", requests)
	b.ReportMetric(float64(resident), "start-kB")
	b.ReportMetric(float64(slices.Max(held)), "held-max-kB")
	b.ReportMetric(float64(left[len(left)-1]), "left-last-kB")
	h.end(syscall.SIGTERM)
}

// large adds a file as large as is served by default.
func large(t testing.TB, dir string) {
	must(t, os.WriteFile(filepath.Join(dir, "large.md"), []byte(strings.Repeat("0123456\n", 2<<20)), 0o666))
}

func benchmarkChurn(b *testing.B, program string) {
	h := openHall(b, program)
	before, resident := h.descriptors(), h.resident()
	var after []int
	for b.Loop() {
		inParallel(20_000, func(i int) {
			conn, _, err := h.openListen(visitor(i))
			if err != nil {
				b.Errorf("listen %d: %v", i, err)
				return
			}
			hangUp(conn, i%2 == 0)
		})
		h.untilAsFew(before)
		after = append(after, h.resident())
	}
	b.ReportMetric(float64(resident), "start-kB")
	b.ReportMetric(float64(after[0]), "first-kB")
	b.ReportMetric(float64(after[len(after)-1]), "last-kB")
	b.ReportMetric(float64(slices.Max(after)), "max-kB")
	b.ReportMetric(20_000*float64(len(after))/b.Elapsed().Seconds(), "listens/s")
	h.end(syscall.SIGTERM)
}
