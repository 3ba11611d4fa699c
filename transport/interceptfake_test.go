package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// top honours resources below test://top and their list, as the server with a fakeCatalogue does.
type top struct {
	slow chan struct{} // Honour waits until it is closed; nil: it does not
}

func (s top) Honour(ctx context.Context, asked listen.Filter) (honoured listen.Filter, subs []listen.Sub, err error) {
	if s.slow != nil {
		select {
		case <-s.slow:
		case <-ctx.Done():
			return honoured, nil, ctx.Err()
		}
	}
	honoured.ResourcesListChanged = asked.ResourcesListChanged
	for _, uri := range asked.ResourceSubscriptions {
		if strings.HasPrefix(uri, "test://top") {
			honoured.ResourceSubscriptions = append(honoured.ResourceSubscriptions, uri)
			subs = append(subs, listen.Sub{Key: strings.TrimSuffix(uri, "/"), URI: uri})
		}
	}
	return honoured, subs, nil
}

func interceptorOf(source listen.Source) (*Interceptor, *listen.Hub) {
	hub := listen.NewHub(nil)
	info := json.RawMessage(`{"name":"mcp-fsserve","version":"devel"}`)
	return NewInterceptor(&listen.Service{Hub: hub, Source: source, ServerInfo: info}, nil), hub
}

// library is a server that some library might have built: it takes a line at a time, and answers requests but those to
// hang or to be refused.
type library struct {
	*client // of both, the library and the interceptor
	pipe    *InterceptedPipe
	stall   chan struct{} // reads nothing until it is closed; nil: it does
	ended   chan struct{} // closed when it has read the end

	mu  sync.Mutex
	got []string // lines with their ends
	err error    // what ended the reading, nil for the end of input
}

// intercepted runs f as the client of a library behind an interceptor, in a bubble, and checks that all ends.
func intercepted(t *testing.T, f func(t *testing.T, l *library)) {
	t.Helper()
	interceptedWith(t, top{}, nil, f)
}

func interceptedWith(t *testing.T, source listen.Source, stall func() chan struct{}, f func(t *testing.T, l *library)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		i, hub := interceptorOf(source)
		l := &library{client: &client{t: t, in: w, out: &sink{}, hub: hub}, ended: make(chan struct{})}
		if stall != nil {
			l.stall = stall()
		}
		l.pipe = i.Stdio(in, l.out)
		go l.serve()
		f(t, l)
		w.Close()
		<-l.ended
		if err := l.pipe.Close(); err != nil && l.out.err == nil {
			t.Errorf("Close: %v", err)
		}
		synctest.Wait()
		if n := hub.Len(); n != 0 {
			t.Errorf("%d streams are left in the hub", n)
		}
	})
}

func (l *library) serve() {
	defer close(l.ended)
	if l.stall != nil {
		<-l.stall
	}
	lines := bufio.NewReader(l.pipe.Reader())
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			l.take(line)
		}
		if err != nil {
			if err != io.EOF {
				l.mu.Lock()
				l.err = err
				l.mu.Unlock()
			}
			return
		}
	}
}

func (l *library) take(line string) {
	l.mu.Lock()
	l.got = append(l.got, line)
	l.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil || m.Method == "" || strings.HasPrefix(m.Method, "hang") {
		return
	}
	if strings.HasPrefix(m.Method, "refuse") {
		l.says(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-1,"message":"no"}}`)
		return
	}
	l.says(answered1(string(m.ID)))
}

// answered1 is the library's answer.
func answered1(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"by":"library"}}`
}

// says writes a line as the library.
func (l *library) says(line string) { _ = l.writes(line + "\n") }

func (l *library) writes(p string) error {
	n, err := io.WriteString(l.pipe.Writer(), p)
	if err == nil && n != len(p) {
		l.t.Errorf("%d of %d bytes written without an error", n, len(p))
	}
	return err
}

// sees checks what the library has read since the last call.
func (l *library) sees(want ...string) {
	l.t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.got, want) {
		l.t.Errorf("the library has read:\n%q\nwant:\n%q", l.got, want)
	}
	l.got = nil
}
