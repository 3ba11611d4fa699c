package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// webServer is the program serving HTTP in a process of its own.
type webServer struct {
	t      testing.TB
	cmd    *exec.Cmd
	url    string
	stderr *output
	ended  chan error // has the one result of Wait
	client *http.Client
}

var listeningAt = regexp.MustCompile(`listening url=(\S+)`)

// startWeb starts mcp-fsserve --http 127.0.0.1:0 and waits until it watches.
func startWeb(t testing.TB, args ...string) *webServer {
	t.Helper()
	s := startWebOf(t, "mcp-fsserve", append([]string{"--log-level", "debug"}, args...)...)
	s.stderr.rewind() // it may have been watching before
	s.said(watchingMessage)
	return s
}

// startWebOf starts program, a path or a name on PATH, and waits until it says where it is.
func startWebOf(t testing.TB, program string, args ...string) *webServer {
	t.Helper()
	s := &webServer{t: t, ended: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	s.cmd = exec.Command(program, append([]string{"--http", "127.0.0.1:0"}, args...)...)
	s.stderr = &output{}
	s.stderr.changed = sync.NewCond(&s.stderr.mu)
	s.cmd.Env = environment()
	var err error
	s.stderr.pipe, err = s.cmd.StderrPipe()
	must(t, err)
	must(t, s.cmd.Start())
	go func() {
		s.stderr.read()
		s.ended <- s.cmd.Wait()
	}()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = s.cmd.Process.Kill() // fails when it has ended, as it should
	})
	s.said(listeningAt.String())
	s.url = listeningAt.FindStringSubmatch(s.stderr.text())[1]
	return s
}

// said waits until a line of standard error, after the last one waited for, matches.
func (s *webServer) said(pattern string) {
	s.t.Helper()
	if s.stderr.await(regexp.MustCompile(pattern)) == nil {
		s.t.Fatalf("the server never said %q but\n%s", pattern, s.stderr.text())
	}
}

// end sends a signal and expects a clean end.
func (s *webServer) end(signal syscall.Signal) {
	s.t.Helper()
	must(s.t, s.cmd.Process.Signal(signal))
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("the server ended with %v\n%s", err, s.stderr.text())
		}
	case <-time.After(patience):
		s.t.Fatalf("the server does not end\n%s", s.stderr.text())
	}
}

// headers of a request, besides those that every one has. An empty value takes one of these away.
type headers map[string]string

// open sends a request and returns the answer, whose body is still to be read.
func (s *webServer) open(method, body string, h headers) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	must(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range h {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, body, err, s.stderr.text())
	}
	s.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// post sends a message and returns the status and body of the answer.
func (s *webServer) post(message string, h headers) (status int, body string) {
	s.t.Helper()
	answer := s.open(http.MethodPost, message, h)
	text, err := io.ReadAll(answer.Body)
	must(s.t, err)
	return answer.StatusCode, string(text)
}

// modern makes a request of the 2026-07-28 revision and the headers that repeat what is in it.
func modern(id, method string, params map[string]any) (message string, h headers) {
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = requestMeta()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	h = headers{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if uri, ok := params["uri"].(string); ok {
		h["Mcp-Name"] = uri
	}
	return string(text), h
}

// call sends a modern request, which must be answered with status 200, and returns the body.
func (s *webServer) call(method string, params map[string]any, h headers) string {
	s.t.Helper()
	message, all := modern("1", method, params)
	for name, value := range h {
		all[name] = value
	}
	status, body := s.post(message, all)
	if status != http.StatusOK {
		s.t.Fatalf("%s: status %d, %s", method, status, body)
	}
	return body
}

// events are the messages of a stream.
type events struct {
	t     testing.TB
	lines *bufio.Scanner
	body  io.Closer
}

// stream opens a stream of events.
func (s *webServer) stream(method, message string, h headers) *events {
	s.t.Helper()
	answer := s.open(method, message, h)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(answer.Body)
		s.t.Fatalf("%s: status %d, headers %v, body %s", message, answer.StatusCode, answer.Header, text)
	}
	return &events{s.t, bufio.NewScanner(answer.Body), answer.Body}
}

// listen opens a listen and takes its acknowledgement.
func (s *webServer) listen(id string, h headers, uris ...string) *events {
	s.t.Helper()
	message, all := modern(id, "subscriptions/listen", map[string]any{
		"notifications": map[string]any{"resourcesListChanged": true, "resourceSubscriptions": append([]string{}, uris...)}})
	for name, value := range h {
		all[name] = value
	}
	e := s.stream(http.MethodPost, message, all)
	e.expect(`"method":"notifications/subscriptions/acknowledged"`)
	return e
}

// next is the next message, empty at the end of the stream. Comments are left out.
func (e *events) next() string {
	e.t.Helper()
	for e.lines.Scan() {
		if data, ok := bytes.CutPrefix(e.lines.Bytes(), []byte("data:")); ok {
			return strings.TrimSpace(string(data))
		}
	}
	if err := e.lines.Err(); err != nil {
		e.t.Errorf("stream: %v", err)
	}
	return ""
}

func (e *events) expect(part string) string {
	e.t.Helper()
	message := e.next()
	if !strings.Contains(message, part) {
		e.t.Errorf("the stream said %q, want %s", message, part)
	}
	return message
}
