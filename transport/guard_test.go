package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// guarded answers 200 with the client's name to what a guard admits.
func guarded(g *Guard) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.screen(w, r) {
			return
		}
		if client, ok := g.identify(w, r); ok {
			_, _ = io.WriteString(w, client)
		}
	})
}

func newTestGuard(t *testing.T, opts *GuardOptions) *Guard {
	t.Helper()
	g, err := NewGuard(opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ask has g judge a POST to host with the given headers, each NAME, value.
func ask(g *Guard, host string, headers ...string) *httptest.ResponseRecorder {
	return askAs(g, http.MethodPost, host, headers...)
}

func askAs(g *Guard, method, host string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/mcp", nil)
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	guarded(g).ServeHTTP(w, r)
	return w
}

func TestGuardHosts(t *testing.T) {
	g := newTestGuard(t, &GuardOptions{Hosts: []string{"Docs.Example.com", "192.168.1.5", "2001:DB8:0::7", "[fe80::1%eth0]", "my_box.", "kiosk"}})
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST:1": true, "localhost.": true, "localhost.:80": true, "localhost:": true,
		"127.0.0.1": true, "127.0.0.1:8080": true, "127.9.8.7": true, "127.0.0.1.": true,
		"[::1]": true, "[::1]:8080": true, "[0:0:0:0:0:0:0:1]:80": true, "[::ffff:127.0.0.1]": true, "[::FFFF:7F00:1]:5": true,
		"[::1%25lo]:80": true, "[::1%lo]": true,
		"docs.example.com": true, "DOCS.example.COM.:8443": true, "192.168.1.5:80": true, "[2001:db8::7]": true,
		"[2001:db8:0:0::7%25eth1]:80": true, "[fe80::1]:80": true, "[::ffff:192.168.1.5]": true, "my_box:1": true,

		"": false, ".": false, ":80": false, "localhost..": false, ".localhost": false, "localhost:80:80": false, "localhost:http": false,
		"localhost:65536": false, "localhost:-1": false, "localhost:+80": false, "localhost :80": false, " localhost": false,
		"localhost.evil.example": false, "evil.example": false, "127.0.0.1.evil.example": false, "evil.localhost": false,
		"127.0.0.1.nip.io": false, "0.0.0.0": false, "128.0.0.1": false, "127.0.0.01": false, "[::2]": false, "[::]": false,
		"::1": false, "[::1": false, "::1]": false, "[::1]x": false, "[::1]:": true, "[localhost]": false, "[127.0.0.1]": false,
		"localhost@evil.example": false, "evil.example@localhost": false, "localhost:80@evil.example": false, "localhost/": false,
		"localhost,evil.example": false, "localhost%00": false, "kiosk": true, "\u212Aiosk": false, "loc\u00E4lhost": false, "localhost#": false,
		"sub.docs.example.com": false, "docs.example.com.evil.example": false, "192.168.1.50": false, "[2001:db8::8]": false,
	} {
		status := http.StatusForbidden
		if want {
			status = http.StatusOK
		}
		if w := ask(g, host); w.Code != status {
			t.Errorf("Host %q: status %d, want %d", host, w.Code, status)
		}
	}
}

func TestGuardZeroValueIsThatOfALoopbackServer(t *testing.T) {
	for name, g := range map[string]*Guard{"nil": nil, "default": newTestGuard(t, nil)} {
		if w := ask(g, "localhost:8080", "Origin", "http://localhost:6274"); w.Code != http.StatusOK || w.Body.String() != "" {
			t.Errorf("%s: status %d for localhost, client %q", name, w.Code, w.Body)
		}
		if w := ask(g, "docs.example.com"); w.Code != http.StatusForbidden {
			t.Errorf("%s: status %d for another host", name, w.Code)
		}
		if w := ask(g, "localhost", "Origin", "https://docs.example.com"); w.Code != http.StatusForbidden {
			t.Errorf("%s: status %d for another origin", name, w.Code)
		}
	}
}

func TestGuardKnowsTheAddressAConnectionArrivedAt(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	arrived := &net.TCPAddr{IP: net.ParseIP("fe80::5"), Zone: "eth0", Port: 80}
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(arrived)))
	for host, want := range map[string]bool{"[fe80::5]:80": true, "[fe80:0::5%25eth0]": true, "[fe80::6]": false, "": false} {
		r.Host = host
		if got := (*Guard)(nil).allowsHost(r); got != want {
			t.Errorf("Host %q at %v: allowed %v, want %v", host, arrived, got, want)
		}
	}
}

// TestGuardStopsDNSRebinding asks as a browser does after a page has had its own name resolved to 127.0.0.1.
func TestGuardStopsDNSRebinding(t *testing.T) {
	server := httptest.NewServer(guarded(nil))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dialer := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer}}
	defer client.CloseIdleConnections()
	for _, origin := range []string{"", "http://evil.example:" + port} { // a GET of the page's own origin bears none
		r, _ := http.NewRequest(http.MethodPost, "http://evil.example:"+port+"/mcp", strings.NewReader("{}"))
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("origin %q: status %d, headers %v, body %s", origin, answer.StatusCode, answer.Header, body)
		}
	}
}

func TestGuardOrigins(t *testing.T) {
	g := newTestGuard(t, &GuardOptions{Origins: []string{"https://App.example.com", "http://10.0.0.2:3000", "vscode-webview://abc", "https://[2001:DB8::1]:443"}})
	for origin, want := range map[string]bool{
		"http://localhost": true, "https://LOCALHOST:6274": true, "http://127.0.0.1:5": true, "http://[::1]:80": true, "HTTP://localhost.": true,
		"https://app.example.com": true, "https://app.example.com:443": true, "HTTPS://APP.EXAMPLE.COM": true, "https://app.example.com.": true,
		"http://10.0.0.2:3000": true, "vscode-webview://abc": true, "https://[2001:db8:0::1]": true,

		"null": false, "": false, "localhost": false, "//localhost": false, "://localhost": false, "http://": false, "http:localhost": false,
		"https://app.example.com:8443": false, "http://app.example.com": false, "https://app.example.com/": false, "https://app.example.com.evil.example": false,
		"http://localhost.evil.example": false, "http://evil.example": false, "http://localhost@evil.example": false, "http://evil.example#localhost": false,
		"http://localhost/": false, "http://localhost http://evil.example": false, "http://localhost, http://evil.example": false,
		"http://10.0.0.2": false, "file://": false, "file://localhost": false, "tauri://localhost": false, "http://localhost:x": false, "https://*": false,
	} {
		status := http.StatusForbidden
		if want {
			status = http.StatusOK
		}
		w := ask(g, "localhost", "Origin", origin)
		if w.Code != status {
			t.Errorf("Origin %q: status %d, want %d", origin, w.Code, status)
		}
		allowed := ""
		if want {
			allowed = origin // browsers compare it with their own spelling
		}
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != allowed {
			t.Errorf("Origin %q: allowed is %q, want %q", origin, got, allowed)
		}
		if got := w.Header().Get("Vary"); got != "Origin" {
			t.Errorf("Origin %q: Vary is %q", origin, got)
		}
	}
}

func TestGuardRefusesSeveralOrigins(t *testing.T) {
	w := ask(nil, "localhost", "Origin", "http://localhost", "Origin", "http://localhost")
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}

func TestGuardAnswersPreflights(t *testing.T) {
	tokens, err := ParseTokens("secret")
	if err != nil {
		t.Fatal(err)
	}
	g := newTestGuard(t, &GuardOptions{Tokens: tokens})
	w := askAs(g, http.MethodOptions, "localhost", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type,mcp-method,mcp-protocol-version")
	if w.Code != http.StatusNoContent || w.Body.Len() > 0 {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
	allowed := strings.Split(strings.ToLower(w.Header().Get("Access-Control-Allow-Headers")), ", ")
	for _, name := range []string{"accept", "authorization", "content-type", "last-event-id", "mcp-method", "mcp-name",
		"mcp-protocol-version", "mcp-session-id"} {
		found := false
		for _, a := range allowed {
			found = found || a == name
		}
		if !found {
			t.Errorf("%s is not allowed: %v", name, allowed)
		}
	}
	for name, want := range map[string]string{"Access-Control-Allow-Origin": "http://localhost:6274", "Vary": "Origin",
		"Access-Control-Allow-Methods": "GET, POST, DELETE", "Access-Control-Max-Age": "7200", "Access-Control-Allow-Credentials": ""} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	refused := askAs(g, http.MethodOptions, "localhost", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if refused.Code != http.StatusForbidden || refused.Header().Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("preflight of another origin: status %d, headers %v", refused.Code, refused.Header())
	}
	plain := askAs(g, http.MethodOptions, "localhost", "Origin", "http://localhost")
	if plain.Code != http.StatusUnauthorized {
		t.Errorf("OPTIONS that is no preflight: status %d, want that of a request without token", plain.Code)
	}
}

func TestGuardExposesHeadersToPages(t *testing.T) {
	if got := ask(nil, "localhost", "Origin", "http://localhost").Header().Get("Access-Control-Expose-Headers"); !strings.Contains(got, "Mcp-Session-Id") {
		t.Errorf("exposed: %q", got)
	}
	if got := ask(nil, "localhost").Header().Get("Access-Control-Expose-Headers"); got != "" {
		t.Errorf("exposed without an origin: %q", got)
	}
}

func TestGuardTokens(t *testing.T) {
	tokens, err := ParseTokens("alice old-token-of-alice\nalice a1-_~+/.token==\nbob b0b-token\n")
	if err != nil {
		t.Fatal(err)
	}
	g := newTestGuard(t, &GuardOptions{Tokens: tokens})
	for value, client := range map[string]string{
		"Bearer old-token-of-alice": "alice", "bearer a1-_~+/.token==": "alice", "BEARER   b0b-token": "bob",

		"": "", "Bearer": "", "Bearer ": "", "b0b-token": "", "Basic b0b-token": "", "Bearer b0b-toke": "", "Bearer b0b-tokenx": "",
		"Bearer B0B-TOKEN": "", "Bearer bob": "", "Bearer bob b0b-token": "", "Bearer b0b-token, Bearer b0b-token": "",
		"Bearer\tb0b-token": "", "Bearerb0b-token": "", "Bearer \"b0b-token\"": "", "Token b0b-token": "",
	} {
		w := ask(g, "localhost", "Authorization", value)
		if client != "" {
			if w.Code != http.StatusOK || w.Body.String() != client {
				t.Errorf("%q: status %d, client %q, want %q", value, w.Code, w.Body, client)
			}
			continue
		}
		if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != `Bearer realm="mcp-fsserve", error="invalid_token"` {
			t.Errorf("%q: status %d, headers %v", value, w.Code, w.Header())
		}
	}
	none := ask(g, "localhost")
	if none.Code != http.StatusUnauthorized || none.Header().Get("WWW-Authenticate") != `Bearer realm="mcp-fsserve"` {
		t.Errorf("no token: status %d, headers %v", none.Code, none.Header())
	}
	twice := ask(g, "localhost", "Authorization", "Bearer b0b-token", "Authorization", "Bearer b0b-token")
	if twice.Code != http.StatusUnauthorized {
		t.Errorf("two Authorization headers: status %d", twice.Code)
	}
	foreign := ask(g, "evil.example", "Authorization", "Bearer b0b-token")
	if foreign.Code != http.StatusForbidden {
		t.Errorf("good token under another host: status %d", foreign.Code)
	}
}

// TestGuardRefusesInJSON compares with "a JSON-RPC error response that has no id" (basic/transports/streamable-http,
// "Security & Endpoint").
func TestGuardRefusesInJSON(t *testing.T) {
	tokens, _ := ParseTokens("secret")
	g := newTestGuard(t, &GuardOptions{Tokens: tokens})
	for _, w := range []*httptest.ResponseRecorder{
		ask(g, "evil.example"), ask(g, "localhost", "Origin", "null"), ask(g, "localhost"), ask(g, "localhost", "Authorization", "Bearer x"),
	} {
		var body struct {
			JSONRPC string
			ID      *json.RawMessage
			Error   struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.JSONRPC != "2.0" || body.ID != nil || body.Error.Code != -32600 ||
			body.Error.Message == "" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("status %d: %v: %s", w.Code, err, w.Body)
		}
	}
}

// TestGuardIsNotFooledByRawRequests sends what no library would.
func TestGuardIsNotFooledByRawRequests(t *testing.T) {
	server := httptest.NewServer(guarded(nil))
	defer server.Close()
	for name, test := range map[string]struct {
		request string
		status  int
	}{
		"one host":             {"POST /mcp HTTP/1.1\r\nHost: localhost\r\n", 200},
		"two hosts":            {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", 400},
		"two equal hosts":      {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", 400},
		"no host":              {"POST /mcp HTTP/1.1\r\n", 400},
		"empty host":           {"POST /mcp HTTP/1.1\r\nHost:\r\n", 403},
		"no host in HTTP/1.0":  {"POST /mcp HTTP/1.0\r\n", 403},
		"host in HTTP/1.0":     {"POST /mcp HTTP/1.0\r\nHost: localhost\r\n", 200},
		"folded host":          {"POST /mcp HTTP/1.1\r\nHost: localhost\r\n evil.example\r\n", 400},
		"host in the target":   {"POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n", 403},
		"space in the name":    {"POST /mcp HTTP/1.1\r\nHost : localhost\r\n", 400},
		"forwarded host":       {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\nForwarded: host=localhost\r\n", 403},
		"underscored host":     {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nHost_: localhost\r\n", 403},
		"two origins":          {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\norigin: https://evil.example\r\n", 403},
		"origin without value": {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin:\r\n", 403},
		"padded origin":        {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin:   http://localhost  \r\n", 200},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, test.request+"Content-Length: 0\r\nConnection: close\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		answer.Body.Close()
		conn.Close()
		if answer.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d", name, answer.StatusCode, test.status)
		}
	}
}

// TestGuardComparesHostWithAuthority asks over HTTP/2, where :authority names the server and a Host header may follow.
func TestGuardComparesHostWithAuthority(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Host = "localhost"
	for host, want := range map[string]bool{"localhost": true, "evil.example": false} {
		r.Header.Set("Host", host)
		if got := (*Guard)(nil).allowsHost(r); got != want {
			t.Errorf(":authority localhost, Host %s: allowed %v", host, got)
		}
	}

	server := httptest.NewUnstartedServer(guarded(nil))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	for host, want := range map[string]int{"": 200, "evil.example": 403} {
		r, _ := http.NewRequest(http.MethodPost, server.URL, nil)
		r.Host = host
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.ProtoMajor != 2 || answer.StatusCode != want {
			t.Errorf("host %q: status %d over %s, want %d", host, answer.StatusCode, answer.Proto, want)
		}
	}
}

func TestNewGuardNamesWhatIsWrong(t *testing.T) {
	for host, want := range map[string]string{
		"docs.example.com:80": "has a port", "[::1]:80": "has a port", "https://docs.example.com": "is a URL", "*.example.com": "is a pattern",
		"*": "is a pattern", "": "neither", "a b": "neither", "b\u00FCcher.example": "xn--", "localhost:": "neither", "a/b": "neither", "[::1": "neither",
	} {
		_, err := NewGuard(&GuardOptions{Hosts: []string{host}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "host ") {
			t.Errorf("host %q: %v, want %s", host, err, want)
		}
	}
	for origin, want := range map[string]string{
		"null": "any page", "*": "pattern", "https://*.example.com": "pattern", "https://app.example.com/": "has a path", "app.example.com": "is not",
		"": "is not", "https://": "is not", "https://b\u00FCcher.example": "xn--", "https://a:b": "is not", "https://a@b": "is not",
	} {
		_, err := NewGuard(&GuardOptions{Origins: []string{origin}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "origin ") {
			t.Errorf("origin %q: %v, want %s", origin, err, want)
		}
	}
}

// FuzzHost looks for a Host header that is taken for loopback although a browser would send it for a name that somebody
// else owns.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"localhost:80", "[::1%25lo]:80", "127.0.0.1.", "evil.example", "[::ffff:127.0.0.1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, ok := parseHostPort(s)
		if !ok {
			return
		}
		if host == "" || !isPort(port) {
			t.Errorf("%q is read as host %q, port %q", s, host, port)
		}
		again := host
		if strings.Contains(host, ":") {
			again = "[" + host + "]"
		}
		if twice, _, ok := parseHostPort(again); !ok || twice != host {
			t.Errorf("%q is read as %q, that as %q", s, host, twice)
		}
		if isLoopback(host) && host != "localhost" && net.ParseIP(host) == nil {
			t.Errorf("%q is taken for loopback", s)
		}
	})
}
