package transport

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

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

// BenchmarkHTTPIdleListen tells what an open listen costs in memory, the client's connection included.
func BenchmarkHTTPIdleListen(b *testing.B) {
	const streams = 1000
	for b.Loop() {
		b.StopTimer()
		w := startWeb(b, nil, nil)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		before := m.HeapAlloc + m.StackInuse
		b.StartTimer()
		for range streams {
			w.rawPost("HTTP/1.1", listenTo("1", onlyA)).response()
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc+m.StackInuse-before)/streams, "B/stream")
		w.hub.Publish(listen.Change{Keys: []string{a}})
		w.leave()
		b.StartTimer()
	}
}
