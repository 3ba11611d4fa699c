package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// connection is one of HTTP/1.1 that stays. It does as little as it can, so that the server is what is measured.
type connection struct {
	net.Conn
	in   *bufio.Reader
	stay func() bool // stops waiting for the end of the context, which closes it
}

// Close closes the connection.
func (c *connection) Close() error {
	c.stay()
	return c.Conn.Close()
}

// dial connects until ctx ends.
func dial(ctx context.Context, endpoint *url.URL, from net.Addr, buffer int) (*connection, error) {
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: from, KeepAlive: -1}
	conn, err := d.DialContext(ctx, "tcp", endpoint.Host)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, in: bufio.NewReaderSize(conn, buffer),
		stay: context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

// response is the head of an answer, and its body, which must be read to its end before the next.
type response struct {
	status int
	events bool // the body is a stream of events
	body   io.Reader
}

func (c *connection) ask(request []byte) (response, error) {
	if _, err := c.Write(request); err != nil {
		return response{}, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return response{}, err
	}
	if len(line) < 12 {
		return response{}, fmt.Errorf("the server answers %q", line)
	}
	r := response{body: c.in} // to the end of the connection, unless a header says otherwise
	if r.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return response{}, fmt.Errorf("the server answers %q", line)
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return response{}, err
		}
		name, value, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !found {
			return r, nil
		}
		value = bytes.TrimSpace(value)
		switch {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			n, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return response{}, err
			}
			r.body = io.LimitReader(c.in, n)
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			r.body = &chunked{in: c.in, chunks: httputil.NewChunkedReader(c.in)}
		case len(name) == len("Content-Type") && bytes.EqualFold(name, []byte("Content-Type")):
			r.events = bytes.HasPrefix(value, []byte("text/event-stream"))
		}
	}
}

// chunked is a body in chunks, with the empty line that ends it.
type chunked struct {
	in     *bufio.Reader
	chunks io.Reader
}

func (b *chunked) Read(p []byte) (int, error) {
	n, err := b.chunks.Read(p)
	if err != io.EOF {
		return n, err
	}
	if _, err := b.in.ReadSlice('\n'); err != nil {
		return n, err
	}
	return n, io.EOF
}

// all returns the body, of a stream of events the data of its last event, and how long the body is.
func (r response) all() (said []byte, length int64, err error) {
	body, err := io.ReadAll(r.body)
	length = int64(len(body))
	if err != nil {
		return nil, length, err
	}
	if r.status != 200 {
		return nil, length, fmt.Errorf("the server answers with the status %d: %.300q", r.status, body)
	}
	if !r.events {
		return body, length, nil
	}
	for line := range bytes.Lines(body) {
		if data, found := bytes.CutPrefix(line, []byte("data:")); found {
			said = bytes.TrimSpace(data)
		}
	}
	if said == nil {
		return nil, length, errors.New("the server ends its stream without an answer")
	}
	return said, length, nil
}

// skip reads the body to its end and returns its length.
func (r response) skip() (int64, error) {
	n, err := io.Copy(io.Discard, r.body)
	if err == nil && r.status != 200 {
		err = fmt.Errorf("the server answers with the status %d", r.status)
	}
	return n, err
}

// once asks one request on a connection of its own, and returns the answer and how long its body is.
func once(ctx context.Context, endpoint *url.URL, request []byte) (said []byte, length int64, err error) {
	c, err := dial(ctx, endpoint, nil, 64<<10)
	if err != nil {
		return nil, 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, 0, err
	}
	r, err := c.ask(request)
	if err != nil {
		return nil, 0, err
	}
	return r.all()
}

// brief is for the name of what failed, in one line.
func brief(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
