package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// way is how streams come to the product otherwise than by the listens of others: over TLS, by HTTP/2, and in the sessions of
// older clients.
type way struct {
	name   string
	secure bool
	// opener makes what opens one stream at a time, each of which is told of the watched file.
	opener func(ctx context.Context, endpoint *url.URL) func(i int) (*stream, *bufio.Reader, error)
}

var ways = []way{
	{"listens over HTTP/1.1", false, listensOn(unsecured)},
	{"listens over HTTP/1.1 with TLS", true, listensOn(secured)},
	{"listens over HTTP/2 with TLS, each on a connection", true, listensByHTTP2(false)},
	{"listens over HTTP/2 with TLS, all on one connection", true, listensByHTTP2(true)},
	{"streams of sessions over HTTP/1.1", false, streamsOfSessions},
}

const waysTable = "Streams on other ways"

// wayStep measures what streams take on each way.
func (b *bench) wayStep(ctx context.Context, p peer) error {
	n := min(b.scale.many(), b.descriptors-spareDescriptors)
	flags, err := certificate(b.scratch)
	if err != nil {
		return err
	}
	for _, w := range ways {
		argv := slices.Concat(p.http, []string{b.dir})
		if w.secure {
			argv = slices.Concat(p.http, flags, []string{b.dir})
		}
		if err := b.streamsOn(ctx, p, w, argv, n); err != nil {
			b.sheet.fail(fmt.Sprintf("%s %s of %s", grouped(n), w.name, p.name), err)
		}
	}
	return nil
}

func (b *bench) streamsOn(ctx context.Context, p peer, w way, argv []string, n int) error {
	ch, err := b.cores.startHTTP(ctx, p.name, argv, b.cores.server)
	if err != nil {
		return err
	}
	defer ch.end()
	endpoint, err := url.Parse(ch.url)
	if err != nil {
		return err
	}
	add := func(what, unit string, value float64) {
		b.sheet.add(row{waysTable, fmt.Sprintf("%s %s: %s", grouped(n), w.name, what), unit}, p.name, value)
	}
	first, err := fillCrowd(ctx, &crowd{}, openers, w.opener(ctx, endpoint)) // so that it has begun all that it does
	if err != nil {
		return err
	}
	first.close()
	var c *crowd
	opening, err := b.spent(ctx, ch, func() (err error) {
		c, err = fillCrowd(ctx, &crowd{}, n, w.opener(ctx, endpoint))
		return err
	})
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return err
	}
	add("CPU to open one", "µs", micro(opening.cpu)/float64(n))
	add("memory of one", "kB", float64(opening.memory)/1e3/float64(n))
	return b.deliver(ctx, ch, c, add)
}

// connect makes a connection for a stream.
type connect func(ctx context.Context, endpoint *url.URL) (net.Conn, error)

func unsecured(ctx context.Context, endpoint *url.URL) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: nextAddress(), KeepAlive: -1}
	return d.DialContext(ctx, "tcp", endpoint.Host)
}

// withoutCheck takes any certificate: the server is a child of this process, and what checking costs is not its cost. Each
// client has one of its own, since an http.Transport writes the protocols that it speaks into it.
func withoutCheck() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func secured(ctx context.Context, endpoint *url.URL) (net.Conn, error) {
	conn, err := unsecured(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, withoutCheck())
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func listensOn(connect connect) func(context.Context, *url.URL) func(int) (*stream, *bufio.Reader, error) {
	return func(ctx context.Context, endpoint *url.URL) func(int) (*stream, *bufio.Reader, error) {
		return func(i int) (*stream, *bufio.Reader, error) {
			conn, err := connect(ctx, endpoint)
			if err != nil {
				return nil, nil, err
			}
			c := &connection{Conn: conn, in: bufio.NewReaderSize(conn, 1<<10)}
			body, err := acknowledge(c, listenTo(string(watchedURI)).post(endpoint, i+1), 1)
			if err != nil {
				conn.Close()
				return nil, nil, err
			}
			return &stream{conn: conn}, body, nil
		}
	}
}

// byHTTP2 is a stream of HTTP/2.
type byHTTP2 struct {
	body io.Closer
	own  *http.Transport // nil if others are on the connection as well
}

func (s byHTTP2) Close() error {
	err := s.body.Close()
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
	return err
}

func listensByHTTP2(together bool) func(context.Context, *url.URL) func(int) (*stream, *bufio.Reader, error) {
	return func(ctx context.Context, endpoint *url.URL) func(int) (*stream, *bufio.Reader, error) {
		one := clientOfHTTP2(endpoint)
		return func(i int) (*stream, *bufio.Reader, error) {
			if together {
				return listenByHTTP2(ctx, endpoint, one, nil, i)
			}
			own := clientOfHTTP2(endpoint)
			return listenByHTTP2(ctx, endpoint, own, own, i)
		}
	}
}

// clientOfHTTP2 has one connection for all that is asked with it.
func clientOfHTTP2(endpoint *url.URL) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http.Transport{
		Protocols: protocols, MaxConnsPerHost: 1, TLSClientConfig: withoutCheck(),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return unsecured(ctx, endpoint) },
	}
}

func listenByHTTP2(ctx context.Context, endpoint *url.URL, with, own *http.Transport, i int) (*stream, *bufio.Reader, error) {
	raw := listenTo(string(watchedURI)).post(endpoint, i+1)
	parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.String(), parsed.Body)
	if err != nil {
		return nil, nil, err
	}
	request.Header, request.ContentLength = parsed.Header, parsed.ContentLength
	res, err := with.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	s := &stream{conn: byHTTP2{res.Body, own}}
	body := bufio.NewReaderSize(res.Body, 512)
	if res.ProtoMajor != 2 || res.StatusCode != http.StatusOK {
		_ = s.conn.Close()
		return nil, nil, fmt.Errorf("the server answers %s %s", res.Proto, res.Status)
	}
	for {
		line, err := wholeLine(body)
		if err != nil {
			_ = s.conn.Close()
			return nil, nil, err
		}
		if bytes.Contains(line, acknowledged) {
			return s, body, nil
		}
	}
}

// streamsOfSessions opens a session of revision 2025-11-25, subscribes in it, on one connection, and asks for its stream on another.
func streamsOfSessions(ctx context.Context, endpoint *url.URL) func(int) (*stream, *bufio.Reader, error) {
	asking := &http.Transport{MaxIdleConnsPerHost: openers}
	post := func(session, body string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.String(), bytes.NewReader([]byte(body)))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
		}
		res, err := asking.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		said, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(said, []byte(`"result"`)) {
			return nil, fmt.Errorf("the server answers %s: %.300q (%w)", res.Status, said, err)
		}
		return res, nil
	}
	return func(int) (*stream, *bufio.Reader, error) {
		res, err := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}`)
		if err != nil {
			return nil, nil, err
		}
		session := res.Header.Get("Mcp-Session-Id")
		if _, err := post(session, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"`+string(watchedURI)+`"}}`); err != nil {
			return nil, nil, err
		}
		conn, err := unsecured(ctx, endpoint)
		if err != nil {
			return nil, nil, err
		}
		c := &connection{Conn: conn, in: bufio.NewReaderSize(conn, 1<<10)}
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			conn.Close()
			return nil, nil, err
		}
		r, err := c.ask(fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n",
			endpoint.Path, endpoint.Host, session))
		if err == nil && !r.events {
			err = errors.New("a GET of a session is no stream")
		}
		if err == nil {
			err = conn.SetDeadline(time.Time{})
		}
		if err != nil {
			conn.Close()
			return nil, nil, err
		}
		return &stream{conn: conn}, bufio.NewReaderSize(r.body, 512), nil
	}
}

// certificate writes one of ECDSA on P-256, with its key, and returns the flags that name them.
func certificate(dir string) ([]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	return []string{"--tls-cert", certFile, "--tls-key", keyFile}, errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}
