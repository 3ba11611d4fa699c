package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"

	"github.com/mcp-fsserve/mcp-fsserve/client"
	"github.com/mcp-fsserve/mcp-fsserve/internal/verify"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// explainTarget says what a user can do about a server that cannot be talked to.
func explainTarget(t *target, err error) error {
	if hint := t.remedy(err); hint != "" {
		return withHint(hint, "%w", err)
	}
	return err
}

// remedy is what a user can do, empty if that is not known.
func (t *target) remedy(err error) string {
	var refused *wire.StatusError
	var unknown x509.UnknownAuthorityError
	var network *net.OpError
	switch {
	case errors.Is(err, verify.ErrNotModern):
		return "subscriptions/listen came with that revision"
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized && t.header.Get("Authorization") != "":
		return "the server does not know the token that it was shown"
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return "show it a token: --token-file FILE"
	case errors.As(err, &unknown):
		return "if you trust its certificate, add that to those of the system or, but for macOS and Windows, name its file in SSL_CERT_FILE"
	case errors.As(err, &network) && network.Op == "dial":
		return "nothing answers at that address: start the server, or check the host and the port"
	case t.said.Load():
		return "what it said on standard error stands above"
	}
	return ""
}

// isHopeless reports whether trying again would not help.
func isHopeless(err error) bool {
	var start *exec.Error
	var path *os.PathError
	var certificate *tls.CertificateVerificationError
	var refused *client.StatusError
	switch {
	case errors.As(err, &start), errors.As(err, &path), errors.As(err, &certificate), errors.Is(err, client.ErrVersion):
		return true
	case errors.As(err, &refused):
		return refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden
	}
	return false
}

// heedful notes whether anything was written.
type heedful struct {
	io.Writer
	said *atomic.Bool
}

func (h heedful) Write(b []byte) (int, error) {
	h.said.Store(true)
	return h.Writer.Write(b)
}
