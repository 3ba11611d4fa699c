package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// docsTree makes a directory called docs.
func docsTree(t testing.TB) (dir string) {
	dir = filepath.Join(t.TempDir(), "docs")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("one\n"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "b.md"), []byte("two\n"), 0o666))
	return dir
}

func TestWebServesModernClients(t *testing.T) {
	dir := docsTree(t)
	s := startWeb(t, dir)
	for method, test := range map[string]struct {
		params map[string]any
		want   string
	}{
		"server/discover":          {nil, `"supportedVersions":["2026-07-28",`},
		"resources/list":           {nil, `{"uri":"fs://docs/a.md","name":"a.md",`},
		"resources/read":           {map[string]any{"uri": "fs://docs/a.md"}, `"contents":[{"uri":"fs://docs/a.md","mimeType":"text/markdown","text":"one\n"}]`},
		"resources/templates/list": {nil, `"uriTemplate":"fs://docs/{+path}"`},
	} {
		body := s.call(method, test.params, nil)
		if !strings.Contains(body, test.want) {
			t.Errorf("%s: %s lacks %s", method, body, test.want)
		}
		if strings.Contains(body, filepath.Dir(dir)) || strings.Contains(body, "file:") {
			t.Errorf("%s tells where the directory is: %s", method, body)
		}
	}
	message, h := modern("1", "resources/read", map[string]any{"uri": "file://" + filepath.ToSlash(dir) + "/a.md"})
	if status, body := s.post(message, h); status != http.StatusOK || !strings.Contains(body, `"code":-32602`) {
		t.Errorf("the path of the host: status %d, %s", status, body)
	}

	file := s.listen("file", nil, "fs://docs/a.md")
	below := s.listen("below", nil, "fs://docs/sub/")
	must(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("one more\n"), 0o666))
	file.expect(`"uri":"fs://docs/a.md"`)
	must(t, os.WriteFile(filepath.Join(dir, "sub", "b.md"), []byte("two more\n"), 0o666))
	below.expect(`"uri":"fs://docs/sub/"`)

	s.end(syscall.SIGTERM)
	for id, e := range map[string]*events{"file": file, "below": below} {
		last := e.next()
		for strings.Contains(last, `"method":"notifications/resources/updated"`) { // a write may be two changes
			last = e.next()
		}
		if !strings.Contains(last, `"id":"`+id+`","result":{"resultType":"complete"`) || e.next() != "" {
			t.Errorf("listen %s ended with %s", id, last)
		}
	}
	if told := s.stderr.text(); strings.Contains(told, "warning") || strings.Contains(told, "error") {
		t.Errorf("the server said\n%s", told)
	}
}

func TestWebServesLegacyClients(t *testing.T) {
	dir := docsTree(t)
	s := startWeb(t, "notes="+dir)
	answer := s.open(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	id := answer.Header.Get("Mcp-Session-Id")
	if answer.StatusCode != http.StatusOK || id == "" || !strings.Contains(string(text), `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("initialize: status %d, session %q, %s", answer.StatusCode, id, text)
	}
	h := headers{"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-06-18"}
	if status, body := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, h); status != http.StatusAccepted || body != "" {
		t.Errorf("initialized: status %d, %q", status, body)
	}
	told := s.stream(http.MethodGet, "", h)
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`:                                             `"uri":"fs://notes/a.md"`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"fs://notes/sub/b.md"}}`: `"result":{}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping"}`:                                                       `"result":{}`,
	} {
		if status, body := s.post(message, h); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %s", message, status, body)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "sub", "b.md"), []byte("two more\n"), 0o666))
	told.expect(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"fs://notes/sub/b.md"}}`)
	if status, body := s.post("", headers{"Mcp-Session-Id": "nosuch"}); status == http.StatusOK {
		t.Errorf("another session: status %d, %s", status, body)
	}
	ended := s.open(http.MethodDelete, "", h)
	if ended.StatusCode/100 != 2 {
		t.Errorf("DELETE: status %d", ended.StatusCode)
	}
	if status, body := s.post(`{"jsonrpc":"2.0","id":5,"method":"ping"}`, h); status != http.StatusNotFound {
		t.Errorf("after DELETE: status %d, %s", status, body)
	}
	s.end(syscall.SIGINT)
}

func TestWebNamesSeveralDirectories(t *testing.T) {
	s := startWeb(t, docsTree(t), "other="+docsTree(t))
	body := s.call("resources/list", nil, nil)
	for _, want := range []string{`{"uri":"fs://docs/a.md","name":"docs/a.md"`, `{"uri":"fs://other/sub/b.md","name":"other/sub/b.md"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	s.end(syscall.SIGTERM)
}

func TestWebTakesAnotherBaseAndPath(t *testing.T) {
	s := startWeb(t, "--uri-base", "https://docs.example.com/", "--path", "/", docsTree(t))
	if body := s.call("resources/list", nil, nil); !strings.Contains(body, `{"uri":"https://docs.example.com/a.md"`) || !strings.HasSuffix(s.url, "/") {
		t.Errorf("%s: %s", s.url, body)
	}
	s.url += "elsewhere"
	message, h := modern("1", "resources/list", nil)
	if status, body := s.post(message, h); status != http.StatusNotFound || !strings.HasPrefix(body, "{") {
		t.Errorf("another path: status %d, %s", status, body)
	}
	s.end(syscall.SIGTERM)
}

func TestWebAdmitsWhomTheFlagsSay(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(tokens, []byte("alice s3cret-of-alice\nbob s3cret-of-bob\n"), 0o600))
	s := startWeb(t, "--token-file", tokens, "--allow-host", "docs.example.com", "--allow-origin", "https://app.example.com",
		"--max-listens-per-client", "1", docsTree(t))
	alice := headers{"Authorization": "Bearer s3cret-of-alice"}
	message, all := modern("1", "server/discover", nil)
	for name, test := range map[string]struct {
		h      headers
		status int
	}{
		"token":          {alice, 200},
		"no token":       {nil, 401},
		"wrong token":    {headers{"Authorization": "Bearer s3cret-of-carol"}, 401},
		"allowed host":   {headers{"Authorization": "Bearer s3cret-of-bob", "Host": "docs.example.com:8443"}, 200},
		"foreign host":   {headers{"Authorization": "Bearer s3cret-of-bob", "Host": "evil.example"}, 403},
		"allowed origin": {headers{"Authorization": "Bearer s3cret-of-bob", "Origin": "https://app.example.com"}, 200},
		"foreign origin": {headers{"Authorization": "Bearer s3cret-of-bob", "Origin": "https://evil.example"}, 403},
	} {
		h := headers{}
		for _, from := range []headers{all, test.h} {
			for name, value := range from {
				h[name] = value
			}
		}
		if status, body := s.post(message, h); status != test.status {
			t.Errorf("%s: status %d, want %d: %s", name, status, test.status, body)
		}
	}
	preflight := s.open(http.MethodOptions, "", headers{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"})
	if preflight.StatusCode != http.StatusNoContent || preflight.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("preflight: status %d, headers %v", preflight.StatusCode, preflight.Header)
	}

	// Each client has its own share of the listens.
	s.listen("one", alice)
	message, all = modern("two", "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
	all["Authorization"] = alice["Authorization"]
	if status, body := s.post(message, all); status != http.StatusServiceUnavailable {
		t.Errorf("alice's second listen: status %d, %s", status, body)
	}
	s.listen("one", headers{"Authorization": "Bearer s3cret-of-bob"})
	s.end(syscall.SIGTERM)
	for _, want := range []string{" client=alice\n", " client=bob\n", "refused without a good token from=127.0.0.1", " host=evil.example ", " origin=https://evil.example\n"} {
		if !strings.Contains(s.stderr.text(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if strings.Contains(s.stderr.text(), "s3cret") {
		t.Errorf("a token is in the log:\n%s", s.stderr.text())
	}
}

// TestWebSessionsCountAsListens, as the help says: an idle one keeps its place.
func TestWebSessionsCountAsListens(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	message, h := modern("1", "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
	for _, limit := range []string{"--max-listens", "--max-listens-per-client"} {
		s := startWeb(t, limit, "1", docsTree(t))
		session := s.open(http.MethodPost, initialize, nil)
		if session.StatusCode != http.StatusOK {
			t.Fatalf("%s: initialize: status %d", limit, session.StatusCode)
		}
		for name, status := range map[string]int{"listen": first(s.post(message, h)), "session": first(s.post(initialize, nil))} {
			if status != http.StatusServiceUnavailable {
				t.Errorf("%s: a %s beside an idle session: status %d", limit, name, status)
			}
		}
		over := s.open(http.MethodDelete, "", headers{"Mcp-Session-Id": session.Header.Get("Mcp-Session-Id")})
		if over.StatusCode != http.StatusNoContent {
			t.Errorf("%s: DELETE: status %d", limit, over.StatusCode)
		}
		s.listen("2", nil)
		s.end(syscall.SIGTERM)
	}
}

func first(status int, _ string) int { return status }

func TestWebSpeaksHTTP2OverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, writeCertificate(cert, key))
	s := startWeb(t, "--tls-cert", cert, "--tls-key", key, docsTree(t))
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Errorf("it is at %s", s.url)
	}
	text, err := os.ReadFile(cert)
	must(t, err)
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(text)
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known}, ForceAttemptHTTP2: true}
	message, h := modern("1", "server/discover", nil)
	answer := s.open(http.MethodPost, message, h)
	if answer.Proto != "HTTP/2.0" || answer.StatusCode != http.StatusOK {
		t.Errorf("status %d over %s", answer.StatusCode, answer.Proto)
	}
	var streams []*events
	for i := range 20 { // of one connection
		streams = append(streams, s.listen(fmt.Sprint(i), nil))
	}
	addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mcp")
	if conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: known, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	s.end(syscall.SIGTERM)
	for i, e := range streams {
		e.expect(fmt.Sprintf(`"id":"%d","result":{"resultType":"complete"`, i))
		if more := e.next(); more != "" {
			t.Errorf("after the end: %s", more)
		}
	}
}

// TestWebEndsAtOnceAtASecondSignal has a client that asks for more than fits on the way and takes nothing of it.
func TestWebEndsAtOnceAtASecondSignal(t *testing.T) {
	dir := docsTree(t)
	must(t, os.WriteFile(filepath.Join(dir, "large.md"), bytes.Repeat([]byte("text\n"), 3<<20), 0o666))
	s := startWeb(t, dir)
	message, h := modern("1", "resources/read", map[string]any{"uri": "fs://docs/large.md"})
	answer := s.open(http.MethodPost, message, h) // and does not read on
	defer answer.Body.Close()
	addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	for { // until nobody new is let in, which is after the first signal has been taken
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		conn.Close()
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	<-s.ended
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("after the second signal it ended with %v", s.cmd.ProcessState)
	}
}

// TestWebListensLeaveRoomOnTheirConnection has more of them on one connection than HTTP/2 usually has streams.
func TestWebListensLeaveRoomOnTheirConnection(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, writeCertificate(cert, key))
	s := startWeb(t, "--tls-cert", cert, "--tls-key", key, docsTree(t))
	var dials atomic.Int32
	s.client.Transport = &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		HTTP2:             &http.HTTP2Config{StrictMaxConcurrentRequests: true}, // waits, as most clients do
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}
	var listens []*events
	for i := range 300 {
		listens = append(listens, s.listen(fmt.Sprint(i), nil, "fs://docs/a.md"))
	}
	s.call("server/discover", nil, nil)
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	s.end(syscall.SIGTERM)
	for _, e := range listens {
		e.expect(`"resultType":"complete"`)
	}
}

// TestWebStreamsCanBeCounted has limits at which net/http would take no stream at all.
func TestWebStreamsCanBeCounted(t *testing.T) {
	for listens, want := range map[int]int{1: 1025, 16_384: 17_408, mostAtAll: mostStreams} {
		w := webDefaults()
		w.maxListensPerClient = listens
		if got := w.streams(); got != want {
			t.Errorf("%d with %d listens, want %d", got, listens, want)
		}
	}
	if most := uint32(mostStreams); 4*most/4 != most {
		t.Error("four times as many are not counted")
	}
}
