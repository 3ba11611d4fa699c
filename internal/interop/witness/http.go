package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
)

// betweenURLs is where the server says nothing at its pipes but, in the first line on standard error, its URL.
func betweenURLs(r *record, s *server) error {
	_ = s.stdin.Close()
	stderr := bufio.NewReader(s.stderr)
	greeting, err := stderr.ReadString('\n')
	_, address, _ := strings.Cut(strings.TrimSpace(greeting), "url=")
	target, wrong := url.Parse(address)
	if err != nil || wrong != nil || target.Host == "" {
		return fmt.Errorf("the server does not say where it listens: %q", greeting)
	}
	s.stderr = stderr

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &passage{record: r, server: target}
	front := &http.Server{Handler: p}
	go func() { _ = front.Serve(listener) }() // until it is closed
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.command.Process.Signal(syscall.SIGTERM)
	}()
	fmt.Printf("http://%s%s\n", listener.Addr(), target.Path)

	err = passOutput(r, s, io.Discard)
	// Shutdown would wait five seconds for a connection on which nothing was asked.
	p.passing.Lock()
	_ = front.Close()
	return err
}

// passage passes requests to a server, and its answers back.
type passage struct {
	record  *record
	server  *url.URL
	passing sync.RWMutex // held by each request, and by the end for good
}

// message is what the witness itself must know of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (p *passage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.passing.RLock()
	defer p.passing.RUnlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left in the middle of its request
	}
	var asked message
	if len(body) > 0 {
		_ = json.Unmarshal(body, &asked) // or it is recorded as it is
		p.add(entry{From: "client", Line: string(body)})
	}
	answered, err := p.pass(w, r, body, asked)
	switch {
	case r.Context().Err() != nil && asked.Method != "" && asked.ID != nil && !answered:
		p.add(entry{From: "client", Line: fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, asked.ID)})
	case err != nil:
		panic(http.ErrAbortHandler) // so that the client sees a broken answer, too
	}
}

func (p *passage) add(e entry) {
	if err := p.record.add(e); err != nil {
		panic(http.ErrAbortHandler) // the test has ended
	}
}

// pass asks the server and passes what it answers, until that or the client's interest ends. It returns whether the request
// that was asked has had its response.
func (p *passage) pass(w http.ResponseWriter, r *http.Request, body []byte, asked message) (answered bool, err error) {
	out := r.Clone(r.Context())
	out.RequestURI, out.Host = "", p.server.Host
	out.URL = p.server.ResolveReference(&url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery})
	out.Body = io.NopCloser(bytes.NewReader(body))
	response, err := transport.RoundTrip(out)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_ = http.NewResponseController(w).Flush() // a stream may say nothing for long

	silent := true
	stream := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	for line, err := range lines(response.Body) {
		if err != nil {
			return answered, err
		}
		if said, isData := strings.CutPrefix(line, "data: "); isData || !stream {
			p.add(entry{From: "server", Line: said})
			answered = answered || answers(said, asked)
		}
		silent = false
		_, _ = io.WriteString(w, line)
		_ = http.NewResponseController(w).Flush()
	}
	if silent && !stream {
		p.add(entry{From: "server", HTTP: fmt.Sprintf("%s %d", r.Method, response.StatusCode)})
	}
	return answered, nil
}

// lines yields the lines of in with their ends, or an error other than its end.
func lines(in io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for reader := bufio.NewReader(in); ; {
			line, err := reader.ReadString('\n')
			if line != "" && !yield(line, nil) || err == io.EOF {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

// answers reports whether said is the response to a request.
func answers(said string, asked message) bool {
	var m message
	return json.Unmarshal([]byte(said), &m) == nil && m.Method == "" && bytes.Equal(m.ID, asked.ID)
}

// transport asks nobody but the server, and leaves bodies as they are.
var transport = &http.Transport{DisableCompression: true}
