package transport

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// BenchmarkHTTP is a request on a connection that is kept, with its answer.
func BenchmarkHTTP(b *testing.B) {
	for _, test := range []struct{ name, body string }{
		{"discover", modern("1", "server/discover", "")},
		{"read", read("1", a)},
		{"list", modern("1", "resources/list", "")},
	} {
		b.Run(test.name, func(b *testing.B) {
			w := startWeb(b, nil, nil)
			var head strings.Builder
			fmt.Fprintf(&head, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n", len(test.body))
			if err := headersOf(test.body).Write(&head); err != nil {
				b.Fatal(err)
			}
			request := head.String() + "\r\n" + test.body
			c := w.dial()
			defer c.Close()
			in := bufio.NewReader(c)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.WriteString(c, request); err != nil {
					b.Fatal(err)
				}
				res, err := http.ReadResponse(in, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(res.Status, err)
				}
			}
		})
	}
}

// BenchmarkHTTPHandler is what of a read over HTTP is ours: the handler alone, without a connection and net/http.
func BenchmarkHTTPHandler(b *testing.B) {
	w := newWeb(b, nil, nil, nil)
	body := read("1", a)
	content := strings.NewReader(body)
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:8080/mcp", io.NopCloser(content))
	if err != nil {
		b.Fatal(err)
	}
	r.Header, r.ContentLength, r.RemoteAddr = headersOf(body), int64(len(body)), "127.0.0.1:54321"
	b.ReportAllocs()
	for b.Loop() {
		content.Reset(body)
		answer := &weightless{header: http.Header{}}
		if w.e.ServeHTTP(answer, r); answer.status != http.StatusOK {
			b.Fatal(answer.status)
		}
	}
}

// weightless is a ResponseWriter that does nothing.
type weightless struct {
	header http.Header
	status int
}

func (w *weightless) Header() http.Header              { return w.header }
func (w *weightless) WriteHeader(status int)           { w.status = status }
func (w *weightless) Write(p []byte) (int, error)      { return len(p), nil }
func (w *weightless) FlushError() error                { return nil }
func (w *weightless) SetReadDeadline(time.Time) error  { return nil }
func (w *weightless) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkHTTPIdleListen tells what an open listen costs in memory, the client's connection included.
func BenchmarkHTTPIdleListen(b *testing.B) {
	const streams = 1000
	w := startWeb(b, nil, nil)
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	open := func() {
		for range streams {
			w.rawPost("HTTP/1.1", listenTo("1", onlyA)).response()
		}
	}
	leave := func() {
		w.leave()
		w.opened = nil
		until(b, "all streams are over", func() bool { return w.hub.Len() == 0 })
	}
	open() // the first find no memory that can be used again
	leave()
	for b.Loop() {
		b.StopTimer()
		before := inUse()
		b.StartTimer()
		open()
		b.StopTimer()
		b.ReportMetric(float64(inUse()-before)/streams, "B/stream")
		leave()
		b.StartTimer()
	}
}

// BenchmarkFanOut is one change that a thousand listens hear of, until the last has heard.
func BenchmarkFanOut(b *testing.B) {
	const streams = 1000
	w := newWeb(b, listen.NewHub(&listen.Options{UpdateInterval: -1}), nil, nil)
	serveOn(b, w)
	conns := make([]*rawConn, streams)
	for i := range conns {
		conns[i] = w.rawPost("HTTP/1.1", listenTo("1", onlyA))
		in := conns[i].response().Body
		first := make([]byte, len("data: "+acknowledged("1", onlyA)+"\n\n"))
		if _, err := io.ReadFull(in, first); err != nil {
			b.Fatal(err)
		}
	}
	told := "data: " + updated("1", a) + "\n\n"
	heard := make([]byte, len(fmt.Sprintf("\r\n%x\r\n%s", len(told), told)))
	b.ReportAllocs()
	for b.Loop() {
		w.hub.Publish(listen.Change{Keys: []string{a}})
		for _, c := range conns {
			if _, err := io.ReadFull(c.in, heard); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/streams, "ns/delivery")
}
