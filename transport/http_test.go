package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Every status, with what brings it about.
func TestHTTPStatuses(t *testing.T) {
	w := startWeb(t, nil, &HTTPOptions{MaxBody: 8 << 10})
	session := w.open("2025-06-18")
	other := strings.Replace(meta, "2026-07-28", "2031-01-01", 1)
	for name, test := range map[string]struct {
		body    string
		headers []string
		status  int
		id      string
		code    int // 0: a result
	}{
		"discover":                    {modern("1", "server/discover", ""), nil, 200, "1", 0},
		"list":                        {modern(`"x"`, "resources/list", ""), nil, 200, `"x"`, 0},
		"read":                        {read("1", a), nil, 200, "1", 0},
		"not found":                   {read("1", "test://top/none"), nil, 200, "1", -32602},
		"bad cursor":                  {modern("1", "resources/list", `,"cursor":"?"`), nil, 200, "1", -32602},
		"too large":                   {read("1", "test://top/big"), nil, 200, "1", -32603},
		"unreadable":                  {read("1", "test://top/locked"), nil, 200, "1", -32603},
		"internal error":              {read("1", "test://top/odd"), nil, 500, "1", -32603},
		"ill-typed cursor":            {modern("1", "resources/list", `,"cursor":1`), nil, 400, "1", -32602},
		"no uri":                      {modern("1", "resources/read", ""), []string{headerName, ""}, 400, "1", -32602},
		"unknown method":              {modern("1", "tools/list", ""), nil, 404, "1", -32601},
		"legacy method":               {modern("1", "initialize", ""), nil, 404, "1", -32601},
		"no metadata":                 {legacy("1", "resources/list", ""), nil, 400, "1", -32602},
		"modern method alone":         {legacy("1", "server/discover", ""), nil, 400, "1", -32602},
		"modern header alone":         {legacy("1", "resources/list", ""), []string{headerVersion, "2026-07-28"}, 400, "1", -32602},
		"modern header, session":      {legacy("1", "ping", ""), []string{headerVersion, "2026-07-28", headerSession, session}, 400, "1", -32602},
		"modern in a session":         {modern("1", "resources/list", ""), []string{headerSession, session}, 200, "1", 0},
		"modern, unknown session":     {modern("1", "resources/list", ""), []string{headerSession, "gone", "Last-Event-ID", "7"}, 200, "1", 0},
		"unknown version":             {`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{` + other + `}}`, []string{headerVersion, "2031-01-01"}, 400, "1", -32022},
		"no JSON":                     {`{"jsonrpc":`, nil, 400, "", -32700},
		"not UTF-8":                   {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", nil, 400, "", -32700},
		"fractional id":               {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400, "", -32600},
		"no version of JSON-RPC":      {`{"id":7,"method":"ping"}`, nil, 400, "7", -32600},
		"params an array":             {`{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}`, nil, 400, "7", -32602},
		"batch":                       {"[" + modern("1", "server/discover", "") + "]", nil, 400, "", -32600},
		"empty body":                  {" ", nil, 400, "", -32700},
		"too long":                    {`{"jsonrpc":"2.0","id":"long","method":"` + strings.Repeat("x", 8<<10) + `"}`, nil, 413, `"long"`, -32600},
		"no content type":             {modern("1", "resources/list", ""), []string{"Content-Type", ""}, 415, "", -32600},
		"content type":                {modern("1", "resources/list", ""), []string{"Content-Type", "text/plain"}, 415, "", -32600},
		"charset":                     {modern("1", "resources/list", ""), []string{"Content-Type", "application/json; charset=latin1"}, 415, "", -32600},
		"UTF-8":                       {modern("1", "resources/list", ""), []string{"Content-Type", `Application/JSON; charset="UTF-8"`}, 200, "1", 0},
		"compressed":                  {modern("1", "resources/list", ""), []string{"Content-Encoding", "gzip"}, 415, "", -32600},
		"accepts all":                 {modern("1", "resources/list", ""), []string{"Accept", "*/*"}, 200, "1", 0},
		"accepts JSON":                {modern("1", "resources/list", ""), []string{"Accept", "text/html, application/json;q=0.1"}, 200, "1", 0},
		"accepts HTML":                {modern("1", "resources/list", ""), []string{"Accept", "text/html"}, 406, "", -32600},
		"accepts no JSON":             {modern("1", "resources/list", ""), []string{"Accept", "*/*;q=1, application/json;q=0"}, 406, "1", -32600},
		"accepts events only":         {modern("1", "resources/list", ""), []string{"Accept", "text/event-stream"}, 406, "1", -32600},
		"listen, accepts JSON":        {listenTo("1", onlyA), []string{"Accept", "application/json"}, 406, "1", -32600},
		"listen, no filter":           {modern("1", "subscriptions/listen", ""), nil, 400, "1", -32602},
		"listen, ill-typed filter":    {listenTo("1", `"resourcesListChanged":1`), nil, 400, "1", -32602},
		"legacy list":                 {legacy("1", "resources/list", ""), []string{headerSession, session}, 200, "1", 0},
		"legacy ping":                 {legacy("1", "ping", ""), []string{headerSession, session, headerVersion, "2025-06-18"}, 200, "1", 0},
		"legacy not found":            {legacy("1", "resources/read", `"uri":"test://top/none"`), []string{headerSession, session}, 200, "1", -32002},
		"legacy unknown method":       {legacy("1", "logging/setLevel", ""), []string{headerSession, session}, 200, "1", -32601},
		"legacy without session":      {legacy("1", "ping", ""), []string{headerVersion, "2025-11-25"}, 400, "1", -32602},
		"legacy unknown session":      {legacy("1", "ping", ""), []string{headerSession, "gone"}, 404, "1", -32600},
		"legacy unsupported version":  {legacy("1", "ping", ""), []string{headerSession, session, headerVersion, "1999-01-01"}, 400, "1", -32022},
		"header of a later version":   {legacy("1", "resources/list", ""), []string{headerVersion, "2031-01-01"}, 400, "1", -32022},
		"initialize, unknown session": {initialize("1", "2025-11-25"), []string{headerSession, "gone"}, 200, "1", 0},
		"initialize, bad params":      {legacy("1", "initialize", ""), nil, 200, "1", -32602},
	} {
		t.Run(name, func(t *testing.T) {
			r := (&web{t: t, client: w.client, url: w.url}).post(test.body, test.headers...)
			r.want(t, test.status)
			switch f := r.frame(t); {
			case test.code != 0:
				f.wantError(t, test.id, test.code)
			case f.Error != nil || string(f.ID) != test.id:
				t.Errorf("got %s", r.body)
			}
			if got := r.header.Get("Content-Length"); got != fmt.Sprint(len(r.body)) {
				t.Errorf("Content-Length is %q", got)
			}
			if !strings.HasPrefix(name, "initialize") && r.header.Get(headerSession) != "" {
				t.Error("a session is named")
			}
		})
	}
}

func TestHTTPHeadersRepeatTheRequest(t *testing.T) {
	w := startWeb(t, nil, nil)
	w.cat.contents["test://top/ünï"] = w.cat.contents[a]
	w.cat.contents["=?base64?eA==?="] = w.cat.contents[a]
	list, ünï := modern("1", "resources/list", ""), read("1", "test://top/ünï")
	for name, test := range map[string]struct {
		body    string
		headers []string
		good    bool
	}{
		"encoded":                   {read("1", a), []string{headerName, base64Name(a)}, true},
		"not ASCII, encoded":        {ünï, []string{headerName, base64Name("test://top/ünï")}, true},
		"not ASCII, as it is":       {ünï, nil, false},
		"like an encoded one":       {read("1", "=?base64?eA==?="), []string{headerName, base64Name("=?base64?eA==?=")}, true},
		"like an encoded one, bare": {read("1", "=?base64?eA==?="), nil, false},
		"upper case marker":         {read("1", a), []string{headerName, strings.Replace(base64Name(a), "base64", "BASE64", 1)}, false},
		"no base64":                 {read("1", a), []string{headerName, "=?base64?*?="}, false},
		"no padding":                {read("1", a), []string{headerName, strings.Replace(base64Name(a+"x"), "==?=", "?=", 1)}, false},
		"other name":                {read("1", a), []string{headerName, b}, false},
		"no name":                   {read("1", a), []string{headerName, ""}, false},
		"name of nothing":           {list, []string{headerName, b}, true},
		"no method":                 {list, []string{headerMethod, ""}, false},
		"other method":              {list, []string{headerMethod, "resources/read"}, false},
		"method in upper case":      {list, []string{headerMethod, "Resources/List"}, false},
		"method encoded":            {list, []string{headerMethod, base64Name("resources/list")}, false},
		"no version":                {list, []string{headerVersion, ""}, false},
		"other version":             {list, []string{headerVersion, "2025-11-25"}, false},
		"tool without name":         {modern("1", "tools/call", `,"name":"x"`), []string{headerName, ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := (&web{t: t, client: w.client, url: w.url}).post(test.body, test.headers...)
			if test.good {
				r.want(t, http.StatusOK, `"result"`)
				return
			}
			r.wantError(t, http.StatusBadRequest, "1", -32020, "header mismatch")
		})
	}
	// The same header twice: two readers could see two values.
	r := w.request(context.Background(), http.MethodPost, list)
	r.Header[headerMethod] = []string{"resources/list", "resources/list"}
	w.do(r).wantError(t, http.StatusBadRequest, "1", -32020, "more than once")
	// Names go without regard to case.
	w.rawPost("HTTP/1.1", modern("1", "server/discover", ""), "x: y").response()
	// The version is looked at after the headers, the method after that.
	w.post(modern("1", "no/such", ""), headerMethod, "no/other").wantError(t, http.StatusBadRequest, "1", -32020)
}

func TestHTTPVerbsAndPaths(t *testing.T) {
	w := startWeb(t, nil, nil)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		for _, more := range [][]string{nil, {headerVersion, "2026-07-28", headerSession, "x"}} {
			r := w.ask(method, "", more...).wantError(t, http.StatusMethodNotAllowed, "", -32600, "POST")
			if allow := r.header.Get("Allow"); allow != "OPTIONS, POST" {
				t.Errorf("Allow is %q", allow)
			}
		}
		w.ask(method, "", headerSession, "gone").wantError(t, http.StatusNotFound, "", -32600, "initialize")
		w.ask(method, "", headerSession, "gone", headerVersion, "1999-01-01").wantError(t, http.StatusBadRequest, "", -32022)
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch, "BREW"} {
		r := w.ask(method, "{}").wantError(t, http.StatusMethodNotAllowed, "", -32600)
		if allow := r.header.Get("Allow"); allow != allMethods {
			t.Errorf("Allow is %q", allow)
		}
	}
	if r := w.ask(http.MethodHead, "").want(t, http.StatusMethodNotAllowed); r.body != "" || r.header.Get("Allow") == "" {
		t.Errorf("HEAD: %v", r)
	}
	if r := w.ask(http.MethodOptions, "").want(t, http.StatusNoContent); r.body != "" || r.header.Get("Allow") != allMethods {
		t.Errorf("OPTIONS: %v", r)
	}
	base := strings.TrimSuffix(w.url, "/mcp")
	for _, path := range []string{"/", "/mcp/", "/mcp/x", "/MCP", "/sse", "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		w.url = base + path
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w.ask(method, "{}").wantError(t, http.StatusNotFound, "", -32600, "/mcp")
		}
	}
}

// Who may ask is decided before what is asked, and a path before a token: hosts look for metadata without one.
func TestHTTPOrderOfChecks(t *testing.T) {
	tokens, err := ParseTokens("ann " + strings.Repeat("a", 40) + "\nbob " + strings.Repeat("b", 40))
	if err != nil {
		t.Fatal(err)
	}
	guard, err := NewGuard(&GuardOptions{Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	w := startWeb(t, nil, &HTTPOptions{Guard: guard})
	ann, bob := "Bearer "+strings.Repeat("a", 40), "Bearer "+strings.Repeat("b", 40)
	w.ask(http.MethodPut, "x", "Origin", "https://evil.example").want(t, http.StatusForbidden)
	w.ask(http.MethodPut, "x").want(t, http.StatusUnauthorized)
	w.ask(http.MethodPut, "x", "Authorization", ann).want(t, http.StatusMethodNotAllowed)
	w.post("x", "Authorization", ann, "Content-Type", "text/plain", "Accept", "text/html").want(t, http.StatusNotAcceptable)
	w.post("x", "Authorization", ann, "Content-Type", "text/plain").want(t, http.StatusUnsupportedMediaType)
	well := &web{t: t, client: w.client, url: strings.Replace(w.url, "/mcp", "/.well-known/oauth-protected-resource", 1)}
	well.ask(http.MethodGet, "").want(t, http.StatusNotFound)
	well.ask(http.MethodGet, "", "Origin", "https://evil.example").want(t, http.StatusForbidden)

	// A session is its owner's alone.
	session := w.open("2025-11-25", "Authorization", ann)
	w.in(session, legacy("1", "ping", ""), "Authorization", ann).want(t, http.StatusOK)
	w.in(session, legacy("1", "ping", ""), "Authorization", bob).want(t, http.StatusNotFound)
	w.ask(http.MethodDelete, "", headerSession, session, "Authorization", bob).want(t, http.StatusNotFound)
	w.ask(http.MethodDelete, "", headerSession, session, "Authorization", ann).want(t, http.StatusNoContent)
}

// faulty is an answer that nobody can write.
type faulty struct{ http.ResponseWriter }

func (faulty) WriteHeader(int) { panic("out of order") }

func TestHTTPFaultsOfTheProgramAreErrors(t *testing.T) {
	var log strings.Builder
	w := newWeb(t, listen.NewHub(nil), nil, &HTTPOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))})
	w.url = "http://127.0.0.1/mcp"
	func() {
		defer func() {
			if fault := recover(); fault != http.ErrAbortHandler {
				t.Errorf("the server learns of %v", fault)
			}
		}()
		w.e.ServeHTTP(faulty{httptest.NewRecorder()}, w.request(t.Context(), http.MethodPost, read("1", a)+strings.Repeat(" ", 2*freeBody)))
	}()
	if said := log.String(); !strings.Contains(said, `fault="out of order"`) || !strings.Contains(said, "faulty.Write") {
		t.Errorf("the log says %q", said)
	}
	w.untouched()
}

func TestHTTPAcceptanceHasNoBody(t *testing.T) {
	w := startWeb(t, nil, nil)
	if res := w.rawPost("HTTP/1.1", cancel("1")).response(); res.StatusCode != http.StatusAccepted || res.ContentLength != 0 || res.TransferEncoding != nil {
		t.Errorf("status %d, length %d, encoding %q", res.StatusCode, res.ContentLength, res.TransferEncoding)
	}
}

func TestHTTPNotificationsAreAccepted(t *testing.T) {
	w := startWeb(t, nil, nil)
	session := w.open("2025-11-25")
	for name, test := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"modern":               {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + meta + `}}`, nil, 202},
		"no headers":           {cancel("1"), nil, 202},
		"modern header":        {cancel("1"), []string{headerVersion, "2026-07-28", headerSession, "gone"}, 202},
		"unknown":              {`{"jsonrpc":"2.0","method":"notifications/whatever"}`, nil, 202},
		"in a session":         {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{headerSession, session}, 202},
		"of a session gone":    {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{headerSession, "gone"}, 404},
		"unsupported version":  {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{headerSession, session, headerVersion, "1"}, 400},
		"response":             {`{"jsonrpc":"2.0","id":1,"result":{}}`, []string{headerSession, session}, 202},
		"response to nothing":  {`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, nil, 202},
		"malformed parameters": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := (&web{t: t, client: w.client, url: w.url}).post(test.body, test.headers...)
			if r.want(t, test.status); test.status == 202 && r.body != "" {
				t.Errorf("body %q", r.body)
			}
		})
	}
}

func TestHTTPListenIsAStreamOfEvents(t *testing.T) {
	w := startWeb(t, nil, nil)
	for _, id := range []string{"0", `"1"`, "9007199254740993"} {
		s := w.stream(http.MethodPost, listenTo(id, onlyA+`,"toolsListChanged":true`))
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform",
			"X-Accel-Buffering": "no", "Content-Length": "", "Mcp-Session-Id": ""} {
			if got := s.header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		s.raw(acknowledged(id, onlyA))
		w.hub.Publish(listen.Change{Keys: []string{a}})
		s.raw(updated(id, a))
		w.hub.Publish(listen.Change{Keys: []string{a}})
		s.raw(updated(id, a))
		s.close()
		until(t, "the closed stream is cancelled", func() bool { return w.hub.Len() == 0 })
	}
	// Nothing honoured: acknowledged, completed, over.
	s := w.stream(http.MethodPost, listenTo("1", `"toolsListChanged":true`), "Accept", "text/event-stream")
	s.raw(acknowledged("1", ""), completed("1"))
	s.end()
}

// Two clients know nothing of each other's ids, and one that has two listens with one id has two streams.
func TestHTTPIDsOfDifferentRequestsAreNotCompared(t *testing.T) {
	w := startWeb(t, nil, nil)
	gate := make(chan struct{})
	w.cat.block[a] = gate
	s1, s2 := w.listen("1", onlyA), w.listen("1", onlyA)
	blocked := make(chan reply)
	go func() { blocked <- w.post(read("1", a)) }()
	w.post(read("1", b)).want(t, http.StatusOK, `"id":1`)
	w.post(cancel("1")).want(t, http.StatusAccepted)
	w.hub.Publish(listen.Change{Keys: []string{a}})
	s1.raw(updated("1", a))
	s2.raw(updated("1", a))
	close(gate)
	(<-blocked).want(t, http.StatusOK, `"id":1`)
}

func TestHTTP10HasNoChunks(t *testing.T) {
	w := startWeb(t, nil, nil)
	for _, more := range []string{"Connection: close", "Connection: keep-alive"} {
		c := w.rawPost("HTTP/1.0", listenTo("1", onlyA), more)
		res := c.response()
		if res.StatusCode != 200 || len(res.TransferEncoding) != 0 || res.Header.Get("Connection") != "close" {
			t.Errorf("answer %v %v", res.TransferEncoding, res.Header)
		}
		head := "data: " + acknowledged("1", onlyA) + "\n\n"
		got := make([]byte, len(head))
		if _, err := io.ReadFull(c.in, got); err != nil || string(got) != head {
			t.Errorf("got %q, %v", got, err)
		}
		if n := w.e.moorings(); n != 0 {
			t.Errorf("%d are taken over, of which the client would have to know chunks", n)
		}
		c.Close()
		c = w.rawPost("HTTP/1.0", read("1", a), more)
		res = c.response()
		if data, err := io.ReadAll(res.Body); err != nil || res.Header.Get("Connection") != "close" || !strings.Contains(string(data), `"text"`) {
			t.Errorf("got %q, %v, %v", data, err, res.Header)
		}
		c.Close()
	}
}

func TestHTTP2ServesTheSame(t *testing.T) {
	w := newWeb(t, listen.NewHub(nil), nil, nil)
	srv := httptest.NewUnstartedServer(w.e)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	w.url, w.client = srv.URL+"/mcp", srv.Client()
	t.Cleanup(func() { w.client.CloseIdleConnections(); srv.Close() })
	s1, s2 := w.listen("1", onlyA), w.listen("1", `"resourcesListChanged":true`)
	w.post(read("7", a)).want(t, http.StatusOK, `"id":7`)
	w.hub.Publish(listen.Change{Keys: []string{a}, List: true})
	s1.raw(updated("1", a))
	s2.raw(listChanged("1"))
	s1.close()
	until(t, "the closed stream is cancelled", func() bool { return w.hub.Len() == 1 })
	w.shutdown()
	s2.raw(completed("1"))
	s2.end()
	w.post(read("8", a)).wantError(t, http.StatusServiceUnavailable, "", -32603, "shutting down")
	w.untouched()
}
