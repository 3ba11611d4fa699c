package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// webLibrary is what some library serves over HTTP: it notes each request and says who it is.
type webLibrary struct {
	mu  sync.Mutex
	got []passedOn
}

type passedOn struct {
	method, path, body string
	header             http.Header
	err                error
}

func (l *webLibrary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	l.mu.Lock()
	l.got = append(l.got, passedOn{r.Method, r.URL.Path, string(body), r.Header, err})
	l.mu.Unlock()
	w.Header().Set("Library", "yes")
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, "library")
}

// sees returns the requests since the last call.
func (l *webLibrary) sees() []passedOn {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

func interceptedWeb(t testing.TB, h *HTTPOptions, opts *InterceptorOptions) (*web, *webLibrary) {
	t.Helper()
	w, l := &web{t: t, hub: listen.NewHub(nil)}, &webLibrary{}
	i := NewInterceptor(&listen.Service{Hub: w.hub, Source: top{}, ServerInfo: []byte(`{"name":"mcp-fsserve","version":"devel"}`)}, opts)
	w.s, w.e = i.s, i.Handler(l, h)
	serveOn(t, w)
	return w, l
}

// passes checks that the library answered, and saw all of the body.
func (l *webLibrary) passes(t *testing.T, r reply, body string) {
	t.Helper()
	r.want(t, http.StatusTeapot, "library")
	got := l.sees()
	if len(got) != 1 || got[0].body != body || got[0].err != nil {
		t.Errorf("the library got %.300v", got)
	}
	for _, ours := range []string{"Vary", "Connection", "Cache-Control", "Access-Control-Allow-Origin"} {
		if r.header.Get(ours) != "" {
			t.Errorf("%s was set", ours)
		}
	}
}

func TestHTTPInterceptorServesListensUnderAnyPath(t *testing.T) {
	w, l := interceptedWeb(t, nil, nil)
	for _, path := range []string{"", "/", "/mcp", "/a/b"} {
		w.url = w.url[:strings.Index(w.url, "/mcp")] + path
		e := w.listen("1", onlyA)
		w.hub.Publish(listen.Change{Keys: []string{a}})
		e.raw(updated("1", a))
		e.close()
		w.url += "/mcp"
	}
	w.stream(http.MethodPost, listenTo("1", onlyA), headerSession, "s").raw(acknowledged("1", onlyA)) // which is ignored
	w.leave()
	until(t, "the streams are closed", func() bool { return w.hub.Len() == 0 })
	if got := l.sees(); len(got) != 0 {
		t.Errorf("the library got %v", got)
	}
}

func TestHTTPInterceptorServesItsPathOnly(t *testing.T) {
	w, l := interceptedWeb(t, &HTTPOptions{Path: "/mcp"}, nil)
	w.listen("1", onlyA)
	w.url += "/other"
	l.passes(t, w.post(listenTo("1", onlyA)), listenTo("1", onlyA))
}

func TestHTTPInterceptorPassesOnWhatIsNoListen(t *testing.T) {
	w, l := interceptedWeb(t, &HTTPOptions{MaxBody: 64 << 10}, nil)
	long := strings.Repeat("y", 1<<20)
	for _, body := range []string{
		"", "x", "{", "[]", "null", " \r\n{}", "\xff",
		modern("1", "tools/call", ""), read("1", a), cancel("1"), initialize("1", mcp.Legacy20251125),
		`{"params":{"x":"` + long[:5000] + `"},"method":"x","id":1,"jsonrpc":"2.0"}`,             // its method comes late
		`{"params":{"x":"` + long + `"},"method":"subscriptions/listen","id":1,"jsonrpc":"2.0"}`, // and too late
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"` + long + `"}}`,           // longer than a listen may be
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{`,                     // no JSON: the library says so
		`[` + modern("1", "x", "") + `,` + cancel("2") + `]`,
		`[` + legacy("1", methodListen, "") + `,2`,
	} {
		l.passes(t, w.post(body, headerVersion, ""), body)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodOptions, http.MethodPut} {
		l.passes(t, w.ask(method, "", "Origin", "https://example.com"), "")
	}
	// What is no JSON is not looked at, and neither is what is encoded.
	listens := listenTo("1", onlyA)
	l.passes(t, w.post(listens, "Content-Type", "text/plain", headerMethod, ""), listens)
	l.passes(t, w.post(listens, "Content-Encoding", "gzip", headerMethod, ""), listens)
	w.untouched()
}

func TestHTTPInterceptorRefusesListensWhoseHeadersDiffer(t *testing.T) {
	w, l := interceptedWeb(t, nil, nil)
	listens := listenTo("7", onlyA)
	for name, more := range map[string][]string{
		"Mcp-Method is missing":           {headerMethod, ""},
		`Mcp-Method is "x"`:               {headerMethod, "x"},
		"MCP-Protocol-Version is missing": {headerVersion, ""},
		`MCP-Protocol-Version is "2025-`:  {headerVersion, mcp.Legacy20251125},
	} {
		w.post(listens, more...).wantError(t, http.StatusBadRequest, "7", mcp.HeaderMismatch, name)
	}
	w.post(listens, headerMethod, "", headerVersion, "").wantError(t, http.StatusBadRequest, "7", mcp.HeaderMismatch, "is missing")
	w.post(modern("7", "tools/call", ""), headerMethod, methodListen).wantError(t, http.StatusBadRequest, "7", mcp.HeaderMismatch, "Mcp-Method is")
	w.post(listenTo("null", ""), headerMethod, "").wantError(t, http.StatusBadRequest, "", jsonrpc.InvalidRequest, "id must be")
	w.post(listens, "Content-Type", "text/plain").want(t, http.StatusUnsupportedMediaType)
	w.post(listens, "Accept", "application/json").want(t, http.StatusNotAcceptable)
	if got := l.sees(); len(got) != 0 {
		t.Errorf("the library got %v", got)
	}
}

func TestHTTPInterceptorRefusesBatchesThatHoldAListen(t *testing.T) {
	w, l := interceptedWeb(t, nil, nil)
	batch := `[` + modern("1", "x", "") + `,` + listenTo("2", onlyA) + `]`
	for _, more := range [][]string{{}, {headerVersion, ""}, {headerMethod, methodListen}} {
		w.post(batch, more...).wantError(t, http.StatusBadRequest, "", jsonrpc.InvalidRequest, "batches exist in sessions")
	}
	if got := l.sees(); len(got) != 0 {
		t.Errorf("the library got %v", got)
	}
	l.passes(t, w.post(batch, headerVersion, "", headerSession, "s"), batch) // of the library's, which decides
	later := strings.Replace(batch, mcp.Modern, "2027-01-01", 2)
	l.passes(t, w.post(later, headerVersion, "2027-01-01"), later)
	w.untouched()
}

// A body that does not come is given up for the library, whose http.Server should have no ReadTimeout. What was looked at may
// come as slowly as without that.
func TestHTTPInterceptorWaitsForNoBodyForEver(t *testing.T) {
	const patience = 250 * time.Millisecond
	w, l := interceptedWeb(t, &HTTPOptions{WriteTimeout: patience}, nil)
	url := w.url[:strings.Index(w.url, "/mcp")]
	const beginning = `{"jsonrpc":"2.0","id":1,`
	gone := post(t, url, beginning, 100)
	_ = gone.SetReadDeadline(time.Now().Add(20 * time.Second))
	var got []passedOn
	until(t, "the library is asked", func() bool { got = append(got, l.sees()...); return len(got) > 0 })
	if got[0].body != beginning || !errors.Is(got[0].err, os.ErrDeadlineExceeded) {
		t.Errorf("the library got %q, %v", got[0].body, got[0].err)
	}
	if _, err := io.ReadAll(gone); err != nil { // the http.Server gives it up as well
		t.Error(err)
	}
	slow := modern("1", "x", "")
	c := post(t, url, slow[:len(slow)-1], len(slow))
	time.Sleep(2 * patience) // a client that is slow
	_, _ = io.WriteString(c, slow[len(slow)-1:])
	until(t, "the library is asked", func() bool { got = append(got, l.sees()...); return len(got) > 1 })
	if got[1].body != slow || got[1].err != nil {
		t.Errorf("the library got %q, %v", got[1].body, got[1].err)
	}
}

// A ReadTimeout that the http.Server has all the same holds for a body that is looked at, for the rest of one that was, and not
// for what the library does once that has come.
func TestHTTPInterceptorKeepsTheReadTimeout(t *testing.T) {
	const timeout = 300 * time.Millisecond
	i, _ := interceptorOf(top{})
	type end struct{ read, work error }
	ends := make(chan end, 1)
	server := httptest.NewUnstartedServer(i.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if err == nil {
			select {
			case <-r.Context().Done():
			case <-time.After(2 * timeout):
			}
		}
		ends <- end{err, r.Context().Err()}
	}), nil))
	server.Config.ReadTimeout = timeout
	server.Config.ReadHeaderTimeout = time.Minute // they may come late where much else is going on
	server.Start()
	defer server.Close()
	body := modern("1", "x", "")
	for _, c := range []struct {
		sent   string
		length int
		want   error
	}{
		{body, len(body), nil},
		{body[:len(body)-1], len(body), os.ErrDeadlineExceeded},
		{body[:10], len(body), os.ErrDeadlineExceeded},
	} {
		post(t, server.URL, c.sent, c.length)
		begun := time.Now()
		if got := <-ends; !errors.Is(got.read, c.want) || c.want == nil && got.work != nil {
			t.Errorf("%d of %d bytes: %v", len(c.sent), c.length, got)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%d of %d bytes: given up after %v", len(c.sent), c.length, took)
		}
	}
}

// post sends so much of a body of a length, over a connection of its own.
func post(t *testing.T, url, sent string, length int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, sent)
	return c
}

func TestHTTPInterceptorLeavesOtherRevisionsToTheLibrary(t *testing.T) {
	w, l := interceptedWeb(t, nil, nil)
	later := strings.Replace(listenTo("1", onlyA), mcp.Modern, "2027-01-01", 1)
	l.passes(t, w.post(later, headerVersion, "2027-01-01"), later)
	l.passes(t, w.post(later, headerVersion, ""), later)
	w.post(later).wantError(t, http.StatusBadRequest, "1", mcp.HeaderMismatch, "2027-01-01") // the header names ours

	bare := legacy("1", methodListen, `"notifications":{}`)
	w.post(bare).wantError(t, http.StatusBadRequest, "1", jsonrpc.InvalidParams, "_meta is missing")
	l.passes(t, w.post(bare, headerSession, "s"), bare)
	l.passes(t, w.post(bare, headerVersion, mcp.Legacy20251125), bare)
}

func TestHTTPInterceptorGuardsListensOnly(t *testing.T) {
	tokens, err := ParseTokens("me " + strings.Repeat("x", 32) + "\n")
	if err != nil {
		t.Fatal(err)
	}
	guard, err := NewGuard(&GuardOptions{Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	w, l := interceptedWeb(t, &HTTPOptions{Guard: guard}, nil)
	other := modern("1", "tools/call", "")
	w.post(listenTo("1", onlyA)).want(t, http.StatusUnauthorized)
	l.passes(t, w.post(other), other)
	w.stream(http.MethodPost, listenTo("1", onlyA), "Authorization", "Bearer "+strings.Repeat("x", 32)).raw(acknowledged("1", onlyA))

	foreign := func(body string) reply {
		r := w.request(context.Background(), http.MethodPost, body)
		r.Host = "evil.example"
		return w.do(r)
	}
	foreign(listenTo("1", onlyA)).want(t, http.StatusForbidden)
	l.passes(t, foreign(other), other)
}

func TestHTTPInterceptorShutdownCompletesListens(t *testing.T) {
	w, l := interceptedWeb(t, nil, nil)
	e := w.listen("1", onlyA)
	w.hub.Publish(listen.Change{Keys: []string{a}})
	e.raw(updated("1", a))
	w.shutdown()
	e.raw(completed("1"))
	e.end()
	w.post(listenTo("2", onlyA)).want(t, http.StatusServiceUnavailable)
	other := modern("1", "tools/call", "")
	l.passes(t, w.post(other), other)
}

func TestHTTPInterceptorNeedsAFlusher(t *testing.T) {
	var log bytes.Buffer
	i := NewInterceptor(&listen.Service{Hub: listen.NewHub(nil), Source: top{}}, &InterceptorOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(listenTo("1", onlyA)))
	r.Header = headersOf(listenTo("1", onlyA))
	i.Handler(http.NotFoundHandler(), nil).ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, r)
	if !strings.Contains(log.String(), "neither Flush nor Unwrap") {
		t.Errorf("the log says %q", &log)
	}
}

// The bodies that are looked at share the memory for bodies; where there is none they pass unseen.
func TestHTTPInterceptorBoundsTheBodiesItLooksAt(t *testing.T) {
	i, _ := interceptorOf(top{})
	l := &webLibrary{}
	e := i.Handler(l, nil)
	if err := e.bodies.take("192.0.2.1", e.bodies.part); err != nil {
		t.Fatal(err)
	}
	body := `{"params":{"x":"` + strings.Repeat("y", 1<<20) + `"},"method":"subscriptions/listen","id":1,"jsonrpc":"2.0"}`
	ask := func(of io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", of)
		r.Header = headersOf(body)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		return w
	}
	if w := ask(strings.NewReader(body)); w.Code != http.StatusTeapot {
		t.Errorf("status %d", w.Code)
	}
	if got := l.sees(); len(got) != 1 || got[0].body != body {
		t.Errorf("the library got %.100v", got)
	}
	e.bodies.give("192.0.2.1", e.bodies.part)
	if w := ask(iotest.OneByteReader(strings.NewReader(body))); w.Code != http.StatusBadRequest { // a listen without _meta
		t.Errorf("status %d", w.Code)
	}
	large := strings.Replace(body, methodListen, "x", 1)
	e.next = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if e.bodies.used == 0 {
			t.Error("what is held is not counted")
		}
		if got, err := io.ReadAll(r.Body); string(got) != large || err != nil || e.bodies.used != 0 {
			t.Errorf("%d bytes, %v: %d are held", len(got), err, e.bodies.used)
		}
	})
	ask(strings.NewReader(large))
	e.next = http.NotFoundHandler() // reads nothing
	ask(strings.NewReader(large))
	e.next = l
	odd := errors.New("odd")
	ask(io.MultiReader(strings.NewReader(body[:100]), errorReader{odd}))
	if got := l.sees(); len(got) != 1 || got[0].body != body[:100] || got[0].err != odd {
		t.Errorf("the library got %.100v", got)
	}
	if e.bodies.used != 0 || len(e.bodies.held) != 0 {
		t.Error("memory is not given back")
	}
}

// A body that comes byte by byte is not looked at byte by byte.
func TestHTTPInterceptorLooksRarely(t *testing.T) {
	i, _ := interceptorOf(top{})
	l := &webLibrary{}
	e := i.Handler(l, nil)
	body := `{"params":{"x":"` + strings.Repeat("y", 3<<20) + `"},"method":"x","id":1,"jsonrpc":"2.0"}`
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", iotest.OneByteReader(strings.NewReader(body)))
	r.Header = headersOf(body)
	e.ServeHTTP(httptest.NewRecorder(), r) // looked at each time it would take hours
	if got := l.sees(); len(got) != 1 || got[0].body != body {
		t.Errorf("the library got %.100v", got)
	}
}

// FuzzInterceptedBody: what is passed on is what came, in whatever pieces.
func FuzzInterceptedBody(f *testing.F) {
	for _, seed := range []string{"", "{", listenTo("1", onlyA), modern("1", "x", ""), legacy("1", methodListen, ""), `{"method":"subscriptions/listen"`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	i, _ := interceptorOf(top{})
	f.Fuzz(func(t *testing.T, body []byte, modernHeader bool) {
		l := &webLibrary{}
		ctx, stop := context.WithCancel(t.Context())
		stop() // a listen ends at once
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", iotest.HalfReader(bytes.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")
		if modernHeader {
			r.Header.Set(headerVersion, mcp.Modern)
		}
		e := i.Handler(l, nil)
		e.ServeHTTP(httptest.NewRecorder(), r)
		if got := l.sees(); len(got) > 0 && got[0].body != string(body) {
			t.Errorf("%q became %q", body, got[0].body)
		} else if len(got) == 0 && leadingText(body, "method") != methodListen {
			t.Errorf("%q is taken for a listen", body)
		}
		if e.bodies.used != 0 {
			t.Error("memory is not given back")
		}
	})
}
