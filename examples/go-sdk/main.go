// Command go-sdk serves a queue of jobs with the official Go SDK, and has an interceptor serve the listens, on standard
// input and output or over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-fsserve/mcp-fsserve/examples/outcomes"
	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

func main() {
	addr := flag.String("http", "", "serve HTTP at `ADDR`, such as 127.0.0.1:8080, instead of standard input and output")
	bare := flag.Bool("bare", false, "leave the listens to the SDK")
	interval := flag.Duration("interval", time.Second, "let `TIME`, more than 0, pass between two ticks")
	flag.Parse()
	if *interval <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	jobs := queue.New()
	server := newServer(jobs)
	hub := listen.NewHub(nil)
	go jobs.Run(ctx, *interval, func(c queue.Change) { publish(ctx, server, hub, jobs, c) })

	var interceptor *transport.Interceptor
	if !*bare {
		interceptor = transport.NewInterceptor(&listen.Service{
			Hub:        hub,
			Source:     listen.URISource{ResourcesListChanged: true, Has: jobs.Has},
			Handler:    outcomes.Handler{Jobs: jobs}, // leave it out if you have no notifications of your own
			ServerInfo: json.RawMessage(`{"name":"go-sdk-queue","version":"1.0.0"}`),
		}, nil)
	}
	var err error
	if *addr == "" {
		err = serveStdio(ctx, server, interceptor)
	} else {
		err = serveHTTP(ctx, *addr, server, interceptor)
	}
	if err != nil && !errors.Is(err, context.Canceled) { // by a signal
		log.Fatal(err)
	}
}

// serveStdio serves one client. The SDK reads and writes through the interceptor, which takes the listens out of what the
// client says and puts their notifications between the lines of the SDK.
func serveStdio(ctx context.Context, server *mcp.Server, interceptor *transport.Interceptor) error {
	if interceptor == nil {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	pipe := interceptor.Stdio(os.Stdin, os.Stdout)
	err := server.Run(ctx, &mcp.IOTransport{Reader: pipe.Reader(), Writer: pipe.Writer()})
	return errors.Join(err, pipe.Close()) // which completes the listens that are open
}

// publish tells of a change: modern clients through the hub, older ones through the SDK, which notifies of what was added
// and removed by itself. The hub never waits for a client; the SDK may, so it comes last.
func publish(ctx context.Context, server *mcp.Server, hub *listen.Hub, jobs *queue.Queue, c queue.Change) {
	for _, uri := range c.Added {
		addResource(server, jobs, uri)
	}
	server.RemoveResources(c.Removed...)
	hub.Publish(listen.Change{
		Keys: slices.Concat(c.Updated, c.Added, c.Removed),
		List: len(c.Added)+len(c.Removed) > 0,
	})
	for _, uri := range c.Updated {
		_ = server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // never fails
	}
}
