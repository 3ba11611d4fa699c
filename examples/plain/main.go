// Command plain serves a clock on standard input and output without a library for MCP: it answers the few requests that
// there are itself, and has an interceptor serve the listens.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

const clock = "clock:///now"

func main() {
	hub := listen.NewHub(nil)
	go func() {
		for range time.Tick(time.Second) {
			hub.Publish(listen.Change{Keys: []string{clock}}) // owed to whoever listens to the clock
		}
	}()

	pipe := transport.NewInterceptor(&listen.Service{
		Hub:        hub,
		Source:     listen.URISource{Has: func(uri string) bool { return uri == clock }},
		ServerInfo: json.RawMessage(serverInfo),
	}, nil).Stdio(os.Stdin, os.Stdout)

	in, out := bufio.NewScanner(pipe.Reader()), json.NewEncoder(pipe.Writer())
	for in.Scan() { // neither listens nor cancels of them come here
		if reply, owed := answer(in.Bytes()); owed {
			_ = out.Encode(reply) // if the output is gone, the input ends
		}
	}
	if err := pipe.Close(); err != nil {
		log.Fatal(err)
	}
}
