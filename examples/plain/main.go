// Command plain serves a clock on standard input and output without a library for MCP: it answers the few requests that
// there are itself, and has an interceptor serve the listens.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

const (
	clock   = "clock:///now"
	maxLine = 4 << 20 // bytes
)

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

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { _ = pipe.Close() }) // a signal ends the input

	in, out := bufio.NewScanner(pipe.Reader()), json.NewEncoder(pipe.Writer())
	in.Buffer(nil, maxLine)
	for in.Scan() { // neither listens nor cancels of them come here
		if reply, owed := answer(in.Bytes()); owed {
			_ = out.Encode(reply) // if the output is gone Close says so
		}
	}
	if err := errors.Join(in.Err(), pipe.Close()); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
