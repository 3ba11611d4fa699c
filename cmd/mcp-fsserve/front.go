package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// front is where clients come in over HTTP.
type front struct {
	listener net.Listener
	guard    *transport.Guard
	tls      *tls.Config // nil: plain HTTP
	url      string      // of the endpoint

	writeTimeout time.Duration // after which a connection is closed that takes nothing
	streams      int           // that one connection of HTTP/2 may have
}

// front begins to listen, after everything that can be wrong with the flags has been found. It is nil if stdio is served.
func (cfg *config) front(log *slog.Logger) (*front, error) {
	if cfg.web.addr == "" {
		return nil, nil
	}
	return cfg.web.open(log)
}

func (w *web) open(log *slog.Logger) (*front, error) {
	addr, err := net.ResolveTCPAddr("tcp", w.addr)
	if err != nil {
		return nil, withHint("HOST is a name or an address of this machine", "--http %s: %w", w.addr, err)
	}
	tokens, err := w.tokens(log)
	if err != nil {
		return nil, err
	}
	config, err := w.tlsConfig(log)
	if err != nil {
		return nil, err
	}
	if err := w.exposure(addr, tokens, config, log); err != nil {
		return nil, err
	}
	guard, err := w.guard(tokens)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, w.explainListen(err)
	}
	return &front{listener, guard, config, w.url(listener.Addr(), config != nil), w.writeTimeout, w.streams()}, nil
}

// exposure refuses to let other machines in without anybody having said so.
func (w *web) exposure(addr *net.TCPAddr, tokens *transport.Tokens, config *tls.Config, log *slog.Logger) error {
	switch {
	case addr.IP.IsLoopback():
		return nil
	case tokens == nil && !w.insecure:
		return usageError("give --token-file FILE or set "+tokenVariable+" to a token; or --insecure, if everybody may read what is served",
			"--http %s: other machines could read everything, no token is needed", w.addr)
	case tokens != nil && config == nil:
		log.Warn("tokens can be read on the way from other machines", hintKey, "give --tls-cert and --tls-key, or let a proxy on this machine speak HTTPS")
	}
	return nil
}

// guard admits under the host that was written too, which need not be an address.
func (w *web) guard(tokens *transport.Tokens) (*transport.Guard, error) {
	hosts := w.hosts
	if host, _, err := net.SplitHostPort(w.addr); err == nil && host != "" {
		hosts = append([]string{host}, hosts...)
	}
	guard, err := transport.NewGuard(&transport.GuardOptions{Hosts: hosts, Origins: w.origins, Tokens: tokens})
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err) // of which each has been judged by itself
	}
	return guard, nil
}

// url is that of the endpoint, for somebody on this machine.
func (w *web) url(addr net.Addr, secure bool) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	host, _, _ := net.SplitHostPort(w.addr)
	tcp := addr.(*net.TCPAddr)
	if host == "" || tcp.IP.IsUnspecified() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, strconv.Itoa(tcp.Port)) + w.path
}

func (w *web) explainListen(err error) error {
	var call *net.OpError
	if errors.As(err, &call) {
		err = call.Err // without the address a second time
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "another program listens there; port 0 takes a free one"
	case errors.Is(err, syscall.EACCES):
		hint = "ports below 1024 may need privileges: take one above, such as 8080"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "this machine does not have that address; every one it has is :PORT"
	}
	return withHint(hint, "--http %s: %w", w.addr, err)
}

// close ends listening, if that has not been done.
func (f *front) close() error {
	if f == nil {
		return nil
	}
	if err := f.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("listener: %w", err)
	}
	return nil
}
