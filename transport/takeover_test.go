package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// moorings is how many streams have taken their connections over.
func (e *Endpoint) moorings() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.afloat
}

// What holds of streams whose connections are taken over holds of those whose are not.
func TestHTTPStreamsOnConnectionsThatAreKept(t *testing.T) {
	kept = true
	defer func() { kept = false }()
	for name, test := range map[string]func(*testing.T){
		"events":             TestHTTPListenIsAStreamOfEvents,
		"ids":                TestHTTPIDsOfDifferentRequestsAreNotCompared,
		"limit":              TestHTTPListensBeyondTheLimitAreRefused,
		"keepalive":          TestHTTPKeepsStreamsAlive,
		"pace":               TestHTTPStreamsArePaced,
		"stalled":            TestHTTPAStalledReaderLosesItsOwnStreamOnly,
		"many stalled":       TestHTTPStalledReadersCostOthersNothing,
		"disconnect":         TestHTTPDisconnectIsTheCancel,
		"shutdown":           TestHTTPShutdownCompletesEveryListen,
		"late shutdown":      TestHTTPShutdownCancelsWhatTakesTooLong,
		"shutdown with load": TestHTTPShutdownUnderLoad,
		"storm":              TestHTTPStorm,
		"goroutines":         TestHTTPClientsThatLeaveTakeTheirGoroutines,
		"interceptor":        TestHTTPInterceptorShutdownCompletesListens,
		"slow":               TestHTTPASlowReaderIsToldAll,
		"session":            TestHTTPStreamsOfSessionsComeAndGo,
		"session, owed":      TestHTTPChangesStayOwedWhileNoStreamIsOpen,
		"session, replaced":  TestHTTPASecondGetTakesTheStreamOver,
		"session, stalled":   TestHTTPWhatAStalledGetWasToldIsToldAgain,
		"session, given up":  TestHTTPAReplacedGetThatIsNotTakenEnds,
		"session, whole":     TestHTTPWhatAStalledGetWasToldInPartIsToldAgain,
		"session, deleted":   TestHTTPDeleteEndsASession,
		"session, idle":      TestHTTPIdleSessionsEnd,
	} {
		t.Run(name, test)
	}
}

// Idle listens are one goroutine together, or one each where the system does not tell of many at once: those of the
// http.Server, and what they read with, are gone.
func TestHTTPIdleListensAreFewGoroutines(t *testing.T) {
	const streams = 100
	each := map[bool]int{true: 1, false: streams}[runtime.GOOS == "linux"]
	opens := func(w *web) *rawConn { return w.rawPost("HTTP/1.1", listenTo("1", onlyA)) }
	for name, test := range map[string]struct {
		wrap func(net.Listener) net.Listener
		open func(*web) *rawConn
		most int
	}{
		"sockets":             {func(l net.Listener) net.Listener { return l }, opens, each},
		"what holds sockets":  {func(l net.Listener) net.Listener { return counting{l, new(atomic.Int64)} }, opens, streams},
		"streams of sessions": {func(l net.Listener) net.Listener { return l }, func(w *web) *rawConn { return w.rawGet(w.open("2025-11-25")) }, each},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(t, listen.NewHub(nil), nil, nil)
			srv := httptest.NewUnstartedServer(w.e)
			srv.Listener = test.wrap(srv.Listener)
			serveAs(t, w, srv)
			w.open("2025-11-25") // on a connection that stays
			before := runtime.NumGoroutine()
			var all []*rawConn
			for range streams {
				all = append(all, test.open(w))
				all[len(all)-1].response()
			}
			until(t, "only those that see the clients go are left", func() bool { return runtime.NumGoroutine()-before <= test.most })
			w.hub.Publish(listen.Change{Keys: []string{a}, List: true})
			until(t, "whoever tells the clients has ended", func() bool { return runtime.NumGoroutine()-before <= test.most })
			for _, c := range all {
				c.Close()
			}
			until(t, "nobody is left to see them go", func() bool { return w.e.moorings() == 0 && runtime.NumGoroutine() <= before })
		})
	}
}

// The answer is the same for the client, whoever writes it, also in what handlers around the endpoint have added.
func TestHTTPTakenOverAnswersHaveTheSameHead(t *testing.T) {
	heads := map[string]http.Header{}
	for _, test := range []struct {
		name, encoding string
		wrap           func(http.ResponseWriter) http.ResponseWriter
		taken          int
	}{
		{"taken over", "", func(w http.ResponseWriter) http.ResponseWriter { return w }, 1},
		{"not offered", "", func(w http.ResponseWriter) http.ResponseWriter { return keeper{w} }, 0},
		{"encoded", "identity", func(w http.ResponseWriter) http.ResponseWriter { return w }, 0},
	} {
		w := newWeb(t, listen.NewHub(nil), nil, nil)
		srv := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			out.Header().Set("X-Around", "yes\r\nno")
			if test.encoding != "" {
				out.Header().Set("Content-Encoding", test.encoding)
			}
			w.e.ServeHTTP(test.wrap(out), r)
		}))
		w.url, w.client = srv.URL+"/mcp", srv.Client()
		s := w.listen("1", onlyA)
		if n := w.e.moorings(); n != test.taken {
			t.Errorf("%s: %d are taken over", test.name, n)
		}
		if _, err := http.ParseTime(s.header.Get("Date")); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		s.header.Del("Date")
		heads[test.name] = s.header
		w.shutdown()
		s.raw(completed("1"))
		s.end()
		srv.Close()
		w.untouched()
	}
	if one, other := heads["taken over"], heads["not offered"]; fmt.Sprint(one) != fmt.Sprint(other) || one.Get("X-Around") == "" {
		t.Errorf("the heads differ: %v and %v", one, other)
	}
}

// What comes after a listen is of no interest, but it is read, so that it shows when the client goes.
func TestHTTPWhatFollowsAListenIsDropped(t *testing.T) {
	w := startWeb(t, nil, nil)
	c := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
	if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
		t.Error(err)
	}
	res := c.response()
	s := &events{t: t, lines: bufio.NewScanner(res.Body)}
	s.raw(acknowledged("1", onlyA))
	for range 3 {
		if _, err := io.WriteString(c, strings.Repeat("y", 1000)); err != nil {
			t.Error(err)
		}
		w.hub.Publish(listen.Change{Keys: []string{a}})
		s.raw(updated("1", a))
	}
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
	until(t, "who sends nothing any more has gone", func() bool { return w.hub.Len() == 0 })
	c = w.rawPost("HTTP/1.1", listenTo("1", onlyA))
	c.response()
	go io.Copy(c, io.LimitReader(endless{}, 2*mostHeard))
	until(t, "who sends too much is cut off", func() bool { return w.hub.Len() == 0 && w.e.moorings() == 0 })
}

// endless is what has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// narrow is a listener whose connections hold little of what is not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		_ = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
	}
	return c, err
}

// many are names that are together longer than what such a connection holds.
func many() (uris []string) {
	for i := range 40 {
		uris = append(uris, fmt.Sprintf("test://top/%02d%s", i, strings.Repeat("x", 30_000)))
	}
	return uris
}

// startNarrow serves on narrow connections a client that listens to many and reads no more than the head, and tells it of a
// change of all.
func startNarrow(t *testing.T, h *HTTPOptions) (w *web, c *rawConn) {
	t.Helper()
	w = serveNarrow(t, h)
	c = w.rawPost("HTTP/1.1", listenTo("1", `"resourceSubscriptions":["`+strings.Join(many(), `","`)+`"]`))
	return w, c
}

// serveNarrow serves on narrow connections.
func serveNarrow(t *testing.T, h *HTTPOptions) (w *web) {
	t.Helper()
	w = newWeb(t, listen.NewHub(&listen.Options{UpdateInterval: -1}), nil, h)
	srv := httptest.NewUnstartedServer(w.handler())
	srv.Listener = narrow{srv.Listener}
	serveAs(t, w, srv)
	w.dial = func() net.Conn {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		return c
	}
	return w
}

// What is not taken at once comes when it is, whole and in order, and keeps nobody waiting.
func TestHTTPASlowReaderIsToldAll(t *testing.T) {
	w, slow := startNarrow(t, nil)
	s := w.listen("2", onlyA)
	told := &events{t: t, lines: bufio.NewScanner(slow.response().Body)}
	told.lines.Buffer(nil, 4<<20)
	for range 3 {
		w.hub.Publish(listen.Change{Keys: append(many(), a)})
		s.raw(updated("2", a))
	}
	told.raw(acknowledged("1", `"resourceSubscriptions":["`+strings.Join(many(), `","`)+`"]`))
	owed := map[string]bool{}
	for _, uri := range many() {
		owed[updated("1", uri)] = true
	}
	for len(owed) > 0 {
		frame, ok := told.next()
		if !ok {
			t.Fatalf("the stream ends before %d changes are told: %v", len(owed), told.lines.Err())
		}
		delete(owed, frame)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.shutdown()
	}()
	last := ""
	for frame, ok := told.next(); ok; frame, ok = told.next() {
		last = frame
	}
	if last != completed("1") || told.lines.Err() != nil {
		t.Errorf("last comes %q (%v)", last, told.lines.Err())
	}
	s.raw(completed("2"))
	s.end()
	<-ended
}

func TestHTTPWhoTakesNothingIsGivenUp(t *testing.T) {
	w, stalled := startNarrow(t, &HTTPOptions{WriteTimeout: 2 * time.Second}) // in which its request must come, too
	if res := stalled.response(); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != typeEvents {
		t.Fatalf("there is no listen: %s %v", res.Status, res.Header)
	}
	until(t, "the stalled stream is given up", func() bool { return w.hub.Len() == 0 && w.e.moorings() == 0 })
}

func TestHTTPShutdownLeavesWhoTakesNothing(t *testing.T) {
	w, stalled := startNarrow(t, &HTTPOptions{WriteTimeout: time.Hour})
	stalled.response()
	if err := w.e.Shutdown(canceled()); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	until(t, "nothing is left", func() bool { return w.hub.Len() == 0 && w.e.moorings() == 0 })
}

// counted is a connection that does something with what it is given, as those of proxies and limiters do.
type counted struct {
	*net.TCPConn
	written *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

type counting struct {
	net.Listener
	written *atomic.Int64
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return counted{c.(*net.TCPConn), l.written}, nil
}

// limiting is a listener of TLS that counts the connections that are open, as those do that limit them.
type limiting struct {
	net.Listener
	open *atomic.Int64
	tls  *tls.Config
}

type limited struct {
	*tls.Conn
	open *atomic.Int64
	once *sync.Once
}

func (l limiting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return limited{tls.Server(c, l.tls), l.open, &sync.Once{}}, nil
}

func (c limited) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

func TestHTTPWhatHoldsATakenOverConnectionIsClosed(t *testing.T) {
	var open atomic.Int64
	model := httptest.NewUnstartedServer(http.NotFoundHandler())
	model.StartTLS()
	defer model.Close()
	w := newWeb(t, listen.NewHub(nil), nil, nil)
	srv := httptest.NewUnstartedServer(w.e)
	srv.Listener = limiting{srv.Listener, &open, &tls.Config{Certificates: model.TLS.Certificates}}
	serveAs(t, w, srv)
	w.dial = func() net.Conn {
		c, err := tls.Dial("tcp", srv.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
	c.response()
	until(t, "it is taken over", func() bool { return w.e.moorings() == 1 && open.Load() == 1 })
	c.Close()
	until(t, "what holds it is closed", func() bool { return w.hub.Len() == 0 && open.Load() == 0 })
}

func TestHTTPTakenOverConnectionsWriteForThemselves(t *testing.T) {
	w := newWeb(t, listen.NewHub(nil), nil, nil)
	var written atomic.Int64
	srv := httptest.NewUnstartedServer(w.e)
	srv.Listener = counting{srv.Listener, &written}
	srv.Start()
	defer srv.Close()
	w.url, w.client = srv.URL+"/mcp", srv.Client()
	s := w.listen("1", onlyA)
	if w.e.moorings() != 1 {
		t.Error("it is not taken over")
	}
	before := written.Load()
	w.hub.Publish(listen.Change{Keys: []string{a}})
	s.raw(updated("1", a))
	until(t, "the connection has seen what it was given", func() bool { return written.Load()-before >= int64(len(updated("1", a))) })
	w.shutdown()
	s.raw(completed("1"))
	s.end()
	w.untouched()
}

func TestHTTPSIsTakenOver(t *testing.T) {
	w := newWeb(t, listen.NewHub(nil), nil, nil)
	srv := httptest.NewUnstartedServer(w.e)
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	w.url, w.client = srv.URL+"/mcp", srv.Client()
	defer srv.Close()
	s1, s2 := w.listen("1", onlyA), w.listen("2", onlyA)
	if n := w.e.moorings(); n != 2 {
		t.Errorf("%d are taken over", n)
	}
	for range 3 {
		w.hub.Publish(listen.Change{Keys: []string{a}})
		s1.raw(updated("1", a))
		s2.raw(updated("2", a))
	}
	s1.close()
	until(t, "the closed stream is cancelled", func() bool { return w.hub.Len() == 1 })
	id := w.open("2025-11-25")
	s3 := w.get(id)
	s4 := w.get(id)
	s3.end()
	w.hub.Publish(listen.Change{List: true})
	s4.raw(legacyListChanged)
	w.shutdown()
	s2.raw(completed("2"))
	s2.end()
	s4.end()
	w.untouched()
}

// The handler of a listen goes on when that of its request has returned, until the client goes.
func TestHTTPHandlersOutliveTheirRequest(t *testing.T) {
	senders, causes := make(chan *listen.Sender, 1), make(chan error, 1)
	w := startWeb(t, answering(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		s, err := p.Acknowledge(r.Filter)
		if err != nil {
			return err
		}
		senders <- s
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil
	}), nil)
	s := w.listen("1", onlyA)
	sender := <-senders
	until(t, "the request is over", func() bool {
		w.e.mu.Lock()
		defer w.e.mu.Unlock()
		return len(w.e.exchanges) == 0 && w.e.afloat == 1
	})
	for range 2 {
		if err := sender.Updated(a); err != nil {
			t.Error(err)
		}
		s.raw(updated("1", a))
	}
	s.close()
	if err := <-causes; !errors.Is(err, listen.ErrCancelled) {
		t.Errorf("the handler ends with %v", err)
	}
}

// Comments that are due at nearly the same time go out at the same time: each time that somebody is woken costs.
func TestHTTPCommentsGoTogether(t *testing.T) {
	inBubble(t, nil, &HTTPOptions{Keepalive: 16 * time.Second}, func(t *testing.T, w *web) {
		var streams []*events
		for i := range 8 {
			streams = append(streams, w.listen(fmt.Sprint(i), onlyA))
			after(100 * time.Millisecond)
		}
		for range 3 {
			var first time.Time
			for i, s := range streams {
				line, ok := s.line()
				if blank, _ := s.line(); !ok || line != ":" || blank != "" {
					t.Fatalf("got %q and %q", line, blank)
				}
				if i == 0 {
					first = time.Now()
				}
				if late := time.Since(first); late != 0 {
					t.Errorf("stream %d says something %v after the first", i, late)
				}
			}
		}
		synctest.Wait()
	})
}
