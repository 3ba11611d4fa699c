package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// plaza is a server over HTTP, and the world of the probe. It tells its listens one after the other unless it is fair, so
// that one that does not read holds up all.
type plaza struct {
	fair    bool
	changes chan Subject // never closed
	stop    chan struct{}

	mu      sync.Mutex
	texts   map[string]string
	listens map[*stand]bool
}

// stand is a listen.
type stand struct {
	id     json.RawMessage
	filter filter
	out    http.ResponseWriter
	due    chan Subject // of a fair server; never closed

	mu   sync.Mutex // held while something is written
	gone bool       // guarded by mu: nothing can be written any more
}

func (p *plaza) Put(name, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Subject{Method: updated, URI: "test://x/" + name}
	if _, there := p.texts[name]; !there {
		s = Subject{Method: resourcesChanged}
	}
	p.texts[name] = text
	p.changes <- s
	return nil
}

func (p *plaza) Clear() error { return nil }

// announce tells the listens of changes.
func (p *plaza) announce() {
	for {
		select {
		case s := <-p.changes:
			p.mu.Lock()
			var all []*stand
			for l := range p.listens {
				if l.filter.covers(s) {
					all = append(all, l)
				}
			}
			p.mu.Unlock()
			for _, l := range all {
				if !p.fair {
					l.tell(s)
					continue
				}
				select {
				case l.due <- s:
				default: // it has enough to read
				}
			}
		case <-p.stop:
			return
		}
	}
}

func (l *stand) tell(s Subject) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	fmt.Fprintf(l.out, "data: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":{\"uri\":%q,\"_meta\":{%q:%s}}}\n\n", s.Method, s.URI, mcp.MetaSubscriptionID, l.id)
	_ = http.NewResponseController(l.out).Flush()
}

func (p *plaza) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			URI           string
			Notifications json.RawMessage
		}
	}
	if err != nil || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.Method == listenMethod {
		p.listen(w, r, m.ID, m.Params.Notifications)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, p.answer(m.Method, m.Params.URI))
}

func (p *plaza) answer(method, uri string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := map[string]any{"resultType": "complete"}
	switch method {
	case "server/discover":
		result["supportedVersions"], result["capabilities"] = []string{mcp.Modern}, map[string]any{"resources": struct{}{}}
	case "resources/list":
		var all []mcp.Resource
		for name := range p.texts {
			all = append(all, mcp.Resource{URI: "test://x/" + name, Name: name})
		}
		result["resources"] = all
	case "resources/read":
		result["contents"] = []map[string]string{{"uri": uri, "text": p.texts[uri[len("test://x/"):]]}}
	}
	text, _ := json.Marshal(result)
	return string(text)
}

func (p *plaza) listen(w http.ResponseWriter, r *http.Request, id, notifications json.RawMessage) {
	asked, err := parseFilter(notifications)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l := &stand{id: id, filter: asked, out: w, due: make(chan Subject, 100)}
	w.Header().Set("Content-Type", "text/event-stream")
	l.mu.Lock() // what happens from now on is told, but after the acknowledgement
	p.mu.Lock()
	p.listens[l] = true
	p.mu.Unlock()
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":{\"notifications\":%s,\"_meta\":{%q:%s}}}\n\n", acknowledged, notifications, mcp.MetaSubscriptionID, id)
	_ = http.NewResponseController(w).Flush()
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.gone = true
		l.mu.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.listens, l)
	}()
	for {
		select {
		case s := <-l.due:
			l.tell(s)
		case <-r.Context().Done():
			return
		}
	}
}

// TestStalledReader stalls a real connection, of a server that goes on and of one that is held up.
func TestStalledReader(t *testing.T) {
	for _, fair := range []bool{true, false} {
		p := &plaza{fair: fair, changes: make(chan Subject, 1000), stop: make(chan struct{}), texts: map[string]string{}, listens: map[*stand]bool{}}
		var workers sync.WaitGroup
		workers.Go(p.announce)
		server := httptest.NewServer(p)
		patience := 20 * time.Second
		if !fair {
			patience = 2 * time.Second
		}
		rec := stallAt(t, server.URL, p, patience)
		want := map[bool]Outcome{true: OK, false: Fail}[fair]
		if f := findingOf(t, "stalled", rec); f.Outcome != want {
			t.Errorf("fair: %v: stalled is %v: %s", fair, f.Outcome, f.Detail)
		}
		close(p.stop)
		server.CloseClientConnections()
		server.Close()
		workers.Wait()
	}
}

// stallAt plays the parts of the probe that stalling needs.
func stallAt(t *testing.T, url string, world World, patience time.Duration) *Recording {
	t.Helper()
	p := newProbe(wire.Target{URL: url}, &Options{World: world, Patience: patience})
	defer func() {
		if err := p.leave(); err != nil {
			t.Error(err)
		}
	}()
	ctx := context.Background()
	l, err := p.connect(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.meet(ctx, l); err != nil {
		t.Fatal(err)
	}
	if err := p.prepare(ctx, l); err != nil || p.first == nil {
		t.Fatalf("nothing can be changed: %v", err)
	}
	p.look(ctx, l)
	p.listenTwice(ctx, l)
	p.stallOne(ctx, l)
	return p.rec
}
