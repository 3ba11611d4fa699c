package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// serveHTTP serves any number of clients until ctx ends. The interceptor is a middleware around the handler of mcp-go; what
// authenticates clients goes around both.
func serveHTTP(ctx context.Context, addr string, s *server.MCPServer, interceptor *transport.Interceptor) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	var handler http.Handler = server.NewStreamableHTTPServer(s)
	endListens := func(context.Context) error { return nil }
	if interceptor != nil {
		endpoint := interceptor.Handler(handler, nil)
		handler, endListens = endpoint, endpoint.Shutdown
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}

	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	fmt.Fprintf(os.Stderr, "listening url=http://%s/mcp\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Listens never end by themselves: they are completed first, and web waits until that is written.
	ending, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err = endListens(ending)
	_ = web.Shutdown(ending) // a connection that was never used keeps it waiting for 5 s: it is cut with the others
	return errors.Join(err, web.Close())
}
