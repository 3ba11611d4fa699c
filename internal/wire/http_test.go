package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// serve starts a server that does as handle says, and a Conn to it.
func serve(t *testing.T, handle http.HandlerFunc) (*httptest.Server, Conn, *seen) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c, s := dial(t, Target{URL: server.URL + "/mcp", Header: http.Header{"Authorization": {"Bearer s3cret"}}})
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error("Close:", err)
		}
	})
	return server, c, s
}

func send(t *testing.T, c Conn, message []byte) {
	t.Helper()
	if err := c.Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
}

// stream begins a stream and returns what says something on it.
func stream(w http.ResponseWriter) func(format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flush := http.NewResponseController(w).Flush
	_ = flush()
	return func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, format, args...)
		_ = flush()
	}
}

func TestHTTPSendsTheHeadersOfTheRevision(t *testing.T) {
	headers := make(chan http.Header, 1)
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		h.Set("Is", r.Method+" "+r.URL.Path)
		headers <- h
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	send(t, c, request("1", "resources/read", `{"uri":"test://ü",`+modernMeta+`}`))
	s.wait(t, endOf("1"))
	h := <-headers
	for name, want := range map[string]string{
		"Is": "POST /mcp", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer s3cret", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/read",
		"Mcp-Name": "=?base64?dGVzdDovL8O8?=", "Mcp-Session-Id": "", "Accept-Encoding": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	send(t, c, request("2", "subscriptions/listen", `{"name":"x",`+modernMeta+`}`))
	if h := <-headers; h.Get("Mcp-Method") != "subscriptions/listen" || h["Mcp-Name"] != nil {
		t.Errorf("listen: %v", h)
	}
	send(t, c, request("3", "initialize", `{"protocolVersion":"2025-11-25"}`))
	if h := <-headers; h["Mcp-Method"] != nil || h["Mcp-Protocol-Version"] != nil {
		t.Errorf("initialize: %v", h)
	}
	s.wait(t, endOf("3"))
}

func TestNamesAreEncoded(t *testing.T) {
	for value, want := range map[string]string{
		"":                 "",
		"us-west1":         "us-west1",
		"a b~":             "a b~",
		"Hello, 世界":        "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":         "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":     "=?base64?bGluZTEKbGluZTI=?=",
		"a\tb":             "=?base64?YQli?=",
		"=?base64?x?=":     "=?base64?PT9iYXNlNjQ/eD89?=",
		"=?base64?literal": "=?base64?literal",
		"\x7f":             "=?base64?fw==?=",
	} {
		if got := encodeName(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestHTTPHandsOverStreams(t *testing.T) {
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say := stream(w)
		say("data: {\"jsonrpc\":\"2.0\",\"method\":\"ack\"}\n\n")
		say(": keepalive\n\n")
		say("data: no JSON\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"updated\"}\r\n\r\n")
		say("data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n\n")
	})
	send(t, c, request(`"1"`, "subscriptions/listen", "{"+modernMeta+"}"))
	if e := s.wait(t, endOf(`"1"`)); e.Err != nil {
		t.Error("end:", e.Err)
	}
	var got []string
	for _, e := range s.all() {
		if e.At.IsZero() {
			t.Error("no time:", say(e))
		}
		got = append(got, say(e))
	}
	want := []string{
		`"1": 200 alive`,
		`"1": 200 {"jsonrpc":"2.0","method":"ack"}`,
		`"1": 200 alive`,
		`"1": 200 bad the server sent what is no message: not valid JSON: "no JSON"`,
		"\"1\": 200 {\"jsonrpc\":\"2.0\",\n\"method\":\"updated\"}",
		`"1": 200 {"jsonrpc":"2.0","id":"1","result":{}}`,
		`"1": 200 end <nil>`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("arrived:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestHTTPTellsWhyAnAnswerEnded(t *testing.T) {
	write := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer realm=x")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	const fault = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		want   []string
	}{
		"an error with a status": {write(404, "application/json", fault), []string{"1: 404 " + fault, "1: 404 end <nil>"}},
		"a refusal": {write(401, "text/plain", "who are you?\nreally"),
			[]string{`1: 401 end the server answered with status 401 Unauthorized: "who are you?"`}},
		"a refusal in other JSON": {write(403, "application/json", `{"error":"no"}`),
			[]string{`1: 403 end the server answered with status 403 Forbidden: "{\"error\":\"no\"}"`}},
		"a refusal in a message": {write(401, "application/json", fault),
			[]string{`1: 401 end the server answered with status 401 Unauthorized: "no"`}},
		"a stream with a bad status": {write(503, "text/event-stream", "data: {}\n\n"),
			[]string{`1: 503 end the server answered with status 503 Service Unavailable: "data: {}"`}},
		"nothing":           {write(202, "", ""), []string{"1: 202 end " + ErrUnanswered.Error()}},
		"a page":            {write(200, "text/html", "<p>"), []string{`1: 200 end the server sent what is no message: its Content-Type is "text/html", neither application/json nor text/event-stream: "<p>"`}},
		"no JSON":           {write(200, "application/json", "{"), []string{`1: 200 end the server sent what is no message: not valid JSON: "{"`}},
		"too much":          {write(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 1000)+`"}`), []string{"1: 200 end the server sent what is no message: it is longer than 1000 bytes"}},
		"a notification":    {write(200, "application/json", `{"jsonrpc":"2.0","method":"a"}`), []string{`1: 200 {"jsonrpc":"2.0","method":"a"}`, "1: 200 end " + ErrUnanswered.Error()}},
		"an unfinished one": {write(200, "text/event-stream", "data: {"), []string{"1: 200 alive", "1: 200 end " + ErrUnanswered.Error()}},
		"a cut one":         {func(w http.ResponseWriter, r *http.Request) { stream(w)(": x\n"); panic(http.ErrAbortHandler) }, []string{"1: 200 alive", "1: 200 alive", "1: 200 end unexpected EOF"}},
		"no answer at all":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, []string{"1: end EOF"}},
		"sent elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusTemporaryRedirect)
		}, []string{"1: end the server redirects to http://example.com/: use that URL, if you trust it"}},
		"turned into a GET":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, []string{"1: end the server redirects to URL/x in a way that loses the request: use that URL, if you trust it"}},
		"sent round and round": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusPermanentRedirect) }, []string{"1: end the server redirects again and again"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handle)
			defer server.Close()
			c, s := dial(t, Target{URL: server.URL, MaxMessage: 1000})
			send(t, c, request("1", "a", "{"+modernMeta+"}"))
			end := s.wait(t, endOf("1"))
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			var got []string
			for _, e := range s.all() {
				text, _, _ := strings.Cut(strings.ReplaceAll(say(e), server.URL, "URL"), `: "{\"jsonrpc\"`)
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("arrived:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			var refused *StatusError
			if name == "a refusal" && (!errors.As(end.Err, &refused) || refused.Challenge != "Bearer realm=x") {
				t.Errorf("%#v", end.Err)
			}
		})
	}
}

func TestHTTPToNobody(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, s := dial(t, Target{URL: server.URL + "/?key=s3cret"})
	defer c.Close(t.Context())
	send(t, c, request("1", "a", "{}"))
	if e := s.wait(t, endOf("1")); e.Err == nil || strings.Contains(e.Err.Error(), "s3cret") {
		t.Error(e.Err)
	}
	if err := c.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"a"}`)); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestHTTPWaitsForTheStatusOfANotification(t *testing.T) {
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "good") {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		http.Error(w, "no", http.StatusBadRequest)
	})
	send(t, c, []byte(`{"jsonrpc":"2.0","method":"good"}`))
	send(t, c, []byte(`{"jsonrpc":"2.0","id":5,"result":{"good":true}}`))
	var refused *StatusError
	if err := c.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"bad"}`)); !errors.As(err, &refused) || refused.Status != 400 {
		t.Error(err)
	}
	if err := c.Send(t.Context(), []byte(`[]`)); err == nil {
		t.Error("what is no message was sent")
	}
	if got := s.all(); len(got) > 0 {
		t.Errorf("arrived: %s", describe(got))
	}
}

// Who says that a notification is accepted, and goes on with the answer, keeps nothing else from being sent.
func TestHTTPWaitsForNoMoreThanTheStatusOfANotification(t *testing.T) {
	sent := make(chan struct{})
	_, c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w)(": there is nothing to come\n\n")
		select {
		case <-sent:
		case <-r.Context().Done():
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	send := c.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"a"}`))
	if ctx.Err() != nil || send != nil {
		t.Errorf("Send waited for the end of the answer: %v", send)
	}
	close(sent)
}

// Nor does who refuses, and goes on with the answer: it is the status that says why.
func TestHTTPWaitsForNoMoreThanTheStatusOfARefusal(t *testing.T) {
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "busy")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	isBusy := func(what string, err error) {
		t.Helper()
		var refused *StatusError
		if ctx.Err() != nil || !errors.As(err, &refused) || refused.RetryAfter != 7*time.Second || refused.Body != "busy" {
			t.Errorf("%s: %v (%v)", what, err, ctx.Err())
		}
	}
	isBusy("a notification", c.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"a"}`)))
	isBusy("a stream", c.Follow(ctx))
	send(t, c, []byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`))
	isBusy("a request", s.wait(t, endOf("1")).Err)
}

// lasting answers with a stream that lasts until the client leaves, which it then tells left.
func lasting(left chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		say := stream(w)
		say("data: {\"jsonrpc\":\"2.0\",\"method\":\"ack\"}\n\n")
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				say("data: {\"jsonrpc\":\"2.0\",\"method\":\"tick\"}\n\n")
			case <-r.Context().Done():
				left <- string(body)
				return
			}
		}
	}
}

func TestCancelClosesTheAnswer(t *testing.T) {
	left := make(chan string, 2)
	_, c, s := serve(t, lasting(left))
	one, two := request("1", "subscriptions/listen", "{"+modernMeta+"}"), request("2", "subscriptions/listen", "{"+modernMeta+"}")
	send(t, c, one)
	send(t, c, two)
	ticks := func(id string) (n int) {
		for _, e := range s.all() {
			if string(e.Request) == id {
				n++
			}
		}
		return n
	}
	s.wait(t, func(e Event) bool { return string(e.Request) == "1" && method("tick")(e) })
	if err := c.Cancel(t.Context(), []byte("1")); err != nil {
		t.Fatal(err)
	}
	before := ticks("1")
	if got := <-left; got != string(one) {
		t.Errorf("%s has ended", got)
	}
	at := ticks("2")
	s.wait(t, func(e Event) bool { return ticks("2") > at+2 })
	if after := ticks("1"); after != before {
		t.Errorf("%d events arrived after Cancel", after-before)
	}
	if err := c.Cancel(t.Context(), []byte("1")); err != nil {
		t.Error("of what has ended:", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := len(s.all())
	if got := <-left; got != string(two) {
		t.Errorf("%s has ended", got)
	}
	if len(s.all()) != n {
		t.Error("something arrived after Close")
	}
	if err := c.Send(t.Context(), one); !errors.Is(err, ErrClosed) {
		t.Error("Send after Close:", err)
	}
	if err := c.Follow(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error("Follow after Close:", err)
	}
}

func TestSendThatIsGivenUpIsSilent(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
	}))
	defer server.Close()
	defer close(leave)
	// A body larger than the socket takes is not sent as long as nobody reads it.
	c, s := dial(t, Target{URL: server.URL})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if err := c.Send(ctx, request("1", "a", `{"x":"`+strings.Repeat("x", 32<<20)+`"}`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.all(); len(got) > 0 {
		t.Errorf("arrived: %s", describe(got))
	}
}

func TestHTTPKeepsASession(t *testing.T) {
	calls := make(chan string, 10)
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call := fmt.Sprintf("%s %s session %q version %q", r.Method, strings.TrimSpace(string(body)), r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"))
		calls <- call
		switch {
		case r.Method == "GET":
			stream(w)("data: {\"jsonrpc\":\"2.0\",\"method\":\"updated\"}\n\n")
		case r.Method == "DELETE":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(string(body), "initialize"):
			w.Header().Set("Mcp-Session-Id", "abc")
			stream(w)("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\"}}\n\n")
		case strings.Contains(string(body), "slow"):
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	expect := func(want string) {
		t.Helper()
		if got := <-calls; got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
	}
	send(t, c, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
	s.wait(t, endOf("1"))
	expect(`POST {"jsonrpc":"2.0","id":1,"method":"initialize"} session "" version ""`)
	if err := c.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(`GET  session "abc" version "2025-06-18"`)
	if e := s.wait(t, method("updated")); e.Request != nil {
		t.Errorf("it arrived as an answer to %s", e.Request)
	}
	if e := s.wait(t, func(e Event) bool { return e.End && e.Request == nil }); e.Err != nil {
		t.Error("end of the stream:", e.Err)
	}
	send(t, c, []byte(`{"jsonrpc":"2.0","id":2,"method":"slow"}`))
	expect(`POST {"jsonrpc":"2.0","id":2,"method":"slow"} session "abc" version "2025-06-18"`)
	if err := c.Cancel(t.Context(), []byte("2")); err != nil {
		t.Error(err)
	}
	expect(`POST {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}} session "abc" version "2025-06-18"`)
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	expect(`DELETE  session "abc" version "2025-06-18"`)
}

func TestTheEndOfASessionTakesNoLongerThanItMay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "DELETE" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Mcp-Session-Id", "abc")
		stream(w)("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\"}}\n\n")
	}))
	defer server.Close()
	c, s := dial(t, Target{URL: server.URL, Leave: 10 * time.Millisecond})
	send(t, c, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
	s.wait(t, endOf("1"))
	begun := time.Now()
	if err := c.Close(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("Close:", err)
	}
	if took := time.Since(begun); took >= leaveWithin {
		t.Errorf("it took %v", took)
	}
}

func TestFollowTellsWhyThereIsNoStream(t *testing.T) {
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
	var refused *StatusError
	if err := c.Follow(t.Context()); !errors.As(err, &refused) || refused.Status != 405 {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, c, _ = serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if err := c.Follow(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := s.all(); len(got) > 0 {
		t.Errorf("arrived: %s", describe(got))
	}
}

func TestFollowOutlivesItsContext(t *testing.T) {
	left := make(chan string, 1)
	_, c, s := serve(t, lasting(left))
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Follow(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	n := len(s.all())
	s.wait(t, func(Event) bool { return len(s.all()) > n+5 })
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-left
}

func TestStreamThatGoesOnAfterItsAnswerIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a stream may go on")
	}
	t.Parallel()
	_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w)("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		<-r.Context().Done()
	})
	send(t, c, request("1", "a", "{}"))
	if e := s.wait(t, endOf("1")); e.Err != nil {
		t.Error(e.Err)
	}
}

func TestHTTPTellsWhenToAskAgain(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "120": 2 * time.Minute, "99999999999999999999": math.MaxUint32 / 2 * time.Second, "soon": 0, "-1": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0} {
		for _, body := range []string{"", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"busy"}}`} {
			_, c, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", header)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, body)
			})
			send(t, c, request("1", "server/discover", `{`+modernMeta+`}`))
			s.wait(t, endOf("1"))
			var got time.Duration
			for _, e := range s.all() {
				got = max(got, e.RetryAfter)
				if refused := (*StatusError)(nil); errors.As(e.Err, &refused) {
					got = refused.RetryAfter
				}
			}
			if got != want {
				t.Errorf("%q %.10q: %v, want %v", header, body, got, want)
			}
		}
	}
}
