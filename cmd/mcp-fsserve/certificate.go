package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
)

// tlsConfig is what HTTPS needs, nil without a certificate.
func (w *web) tlsConfig(log *slog.Logger) (*tls.Config, error) {
	if w.tlsCert == "" {
		return nil, nil
	}
	chain, err := readPEM("--tls-cert", w.tlsCert)
	if err != nil {
		return nil, err
	}
	key, err := readPEM("--tls-key", w.tlsKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, w.explainPair(chain, err)
	}
	if fi, err := os.Stat(w.tlsKey); err == nil {
		warnOfReaders(w.tlsKey, fi.Mode(), log)
	}
	// Earlier versions are broken in ways of their own (RFC 8996).
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

func readPEM(flag, name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", flag, err)
	}
	if block, _ := pem.Decode(text); block == nil {
		return nil, withHint("it begins with a line -----BEGIN …-----", "%s %s: it is not in PEM form", flag, quoteArg(name))
	}
	return text, nil
}

// explainPair says which of two files is the wrong one, or that they do not belong together.
func (w *web) explainPair(chain []byte, err error) error {
	var first *pem.Block
	for rest := chain; first == nil; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return withHint("are --tls-cert and --tls-key swapped?", "--tls-cert %s: no certificate in it", quoteArg(w.tlsCert))
		}
		if block.Type == "CERTIFICATE" {
			first = block
		}
	}
	if _, bad := x509.ParseCertificate(first.Bytes); bad != nil {
		return fmt.Errorf("--tls-cert %s: %w", quoteArg(w.tlsCert), bad)
	}
	return withHint("the key must be the one that the first certificate of the chain was made for, without a passphrase",
		"--tls-key %s does not go with --tls-cert %s: %w", quoteArg(w.tlsKey), quoteArg(w.tlsCert), err)
}
