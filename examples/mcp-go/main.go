// Command mcp-go serves a queue of jobs with mark3labs/mcp-go, and has an interceptor serve the listens, on standard input
// and output or over HTTP.
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

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-fsserve/mcp-fsserve/examples/outcomes"
	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

func main() {
	addr := flag.String("http", "", "serve HTTP at `ADDR`, such as 127.0.0.1:8080, instead of standard input and output")
	bare := flag.Bool("bare", false, "leave the listens to mcp-go")
	interval := flag.Duration("interval", time.Second, "let `TIME`, more than 0, pass between two ticks")
	flag.Parse()
	if *interval <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	jobs := queue.New()
	s := newServer(jobs)
	hub := listen.NewHub(nil)
	go jobs.Run(ctx, *interval, func(c queue.Change) { publish(s, hub, jobs, c) })

	var interceptor *transport.Interceptor
	if !*bare {
		interceptor = transport.NewInterceptor(&listen.Service{
			Hub:        hub,
			Source:     listen.URISource{ResourcesListChanged: true, Has: jobs.Has},
			Handler:    outcomes.Handler{Jobs: jobs}, // leave it out if you have no notifications of your own
			ServerInfo: json.RawMessage(`{"name":"mcp-go-queue","version":"1.0.0"}`),
		}, nil)
	}
	var err error
	if *addr == "" {
		err = serveStdio(ctx, s, interceptor)
	} else {
		err = serveHTTP(ctx, *addr, s, interceptor)
	}
	if err != nil && !errors.Is(err, context.Canceled) { // by a signal
		log.Fatal(err)
	}
}

// serveStdio serves one client. mcp-go reads and writes through the interceptor, which takes the listens out of what the
// client says and puts their notifications between the lines of mcp-go.
func serveStdio(ctx context.Context, s *server.MCPServer, interceptor *transport.Interceptor) error {
	if interceptor == nil {
		return server.NewStdioServer(s).Listen(ctx, os.Stdin, os.Stdout)
	}
	pipe := interceptor.Stdio(os.Stdin, os.Stdout)
	err := server.NewStdioServer(s).Listen(ctx, pipe.Reader(), pipe.Writer())
	return errors.Join(err, pipe.Close()) // which completes the listens that are open
}

// publish tells of a change: modern clients through the hub, older ones through mcp-go, which notifies of what was added and
// removed by itself.
func publish(s *server.MCPServer, hub *listen.Hub, jobs *queue.Queue, c queue.Change) {
	for _, uri := range c.Added {
		s.AddResources(newResource(jobs, uri))
	}
	s.DeleteResources(c.Removed...)
	hub.Publish(listen.Change{
		Keys: slices.Concat(c.Updated, c.Added, c.Removed),
		List: len(c.Added)+len(c.Removed) > 0,
	})
	for _, uri := range c.Updated {
		// mcp-go keeps no account of resources/subscribe: every older client is told, and ignores what it did not ask for.
		s.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
	}
}
