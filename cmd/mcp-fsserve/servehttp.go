package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// How long a connection may take for what is not a stream. What is sent has a deadline of its own at each write, in the
// transport: http.Server.WriteTimeout would end every stream.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute // longer than the 60 s of a proxy, which would use a connection that is just closed
	maxHeader     = 32 << 10        // bytes
)

// At the end all is over within five seconds: streams are completed and requests answered in the first four.
const (
	drainWithin = 4 * time.Second
	closeWithin = 500 * time.Millisecond
)

// serveHTTP answers what comes in at f until ctx ends or the listener fails.
func serveHTTP(ctx context.Context, f *front, endpoint *transport.Endpoint, log *slog.Logger) error {
	server := &http.Server{
		// A stream has its deadlines, but is ended by a frame, which waits for ever on a connection that takes nothing.
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: f.writeTimeout, MaxConcurrentStreams: f.streams},
		Handler:           endpoint,
		TLSConfig:         f.tls,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// Its answer to OPTIONS * would say to everybody, and every web page, that somebody is here.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug), // of what clients do wrong
	}
	served := make(chan error, 1)
	go func() { served <- f.serve(server, log) }()
	select {
	case err := <-served:
		return errors.Join(withHint("", "HTTP cannot be served any longer: %w", err), end(server, endpoint, log))
	case <-ctx.Done():
	}
	err := f.close() // nobody new
	<-served
	return errors.Join(err, end(server, endpoint, log))
}

func (f *front) serve(server *http.Server, log *slog.Logger) error {
	in := &doorway{Listener: f.listener, log: log}
	if f.tls != nil {
		return server.ServeTLS(in, "", "") // with HTTP/2, which no client speaks without TLS
	}
	return server.Serve(in)
}

// end completes the streams first: an open one would keep the server from ending.
func end(server *http.Server, endpoint *transport.Endpoint, log *slog.Logger) error {
	draining, cancel := context.WithTimeout(context.Background(), drainWithin)
	defer cancel()
	if err := endpoint.Shutdown(draining); err != nil {
		log.Warn("leaving although clients have not taken everything", "err", err)
	}
	closing, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := server.Shutdown(closing); err != nil && !errors.Is(err, net.ErrClosed) {
		return server.Close()
	}
	return nil
}
