//go:build nginx

package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startNginx starts nginx in front of s and has s asked through it from then on. location is what README.md says of it, to
// which more is added.
func startNginx(t *testing.T, s *webServer, more string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	block := regexp.MustCompile("(?ms)^```nginx\n(.*?)^}\n```$").FindSubmatch(text)
	if block == nil {
		t.Fatal("README.md has no configuration of nginx")
	}
	behind, err := url.Parse(s.url)
	must(t, err)
	location := strings.ReplaceAll(string(block[1]), "127.0.0.1:8080", behind.Host) + more + "}\n"
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	front := free.Addr().String()
	must(t, free.Close())
	conf := filepath.Join(dir, "nginx.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, "daemon off; master_process off; pid %[1]s/pid; error_log stderr;\nevents {}\n"+
		"http { access_log off; client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;\n"+
		"server { listen %[2]s;\n%[3]s} }\n", dir, front, location), 0o666))
	cmd := exec.Command("nginx", "-e", "stderr", "-c", conf)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // with the status of what was killed
	})
	late := time.Now().Add(patience)
	for {
		conn, err := net.Dial("tcp", front)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(late) {
			t.Fatalf("nginx does not listen: %v", err)
		}
	}
	behind.Host = front
	s.url = behind.String()
}

// TestNginxPassesStreamsOn goes through nginx as README.md configures it, which speaks HTTP/1.0 to the server, and through
// one that keeps its connections.
func TestNginxPassesStreamsOn(t *testing.T) {
	for name, more := range map[string]string{
		"HTTP/1.0": "",
		"HTTP/1.1": "proxy_http_version 1.1; proxy_set_header Connection '';\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := docsTree(t)
			s := startWeb(t, dir)
			startNginx(t, s, more)
			if body := s.call("resources/read", map[string]any{"uri": "fs://docs/a.md"}, nil); !strings.Contains(body, `"text":"one\n"`) {
				t.Errorf("read: %s", body)
			}
			e := s.listen("1", nil, "fs://docs/a.md")
			fastest := patience
			elsewhere := filepath.Join(t.TempDir(), "file")
			for range 10 {
				must(t, os.WriteFile(elsewhere, []byte("more\n"), 0o666))
				start := time.Now()
				must(t, os.Rename(elsewhere, filepath.Join(dir, "a.md")))
				e.expect(`"uri":"fs://docs/a.md"`)
				fastest = min(fastest, time.Since(start))
			}
			// One that is held back comes with the next comment, seconds later; a busy machine delays some, not all.
			if fastest > 50*time.Millisecond {
				t.Errorf("the fastest of ten updates took %v", fastest)
			}
			t.Logf("the fastest of ten updates took %v", fastest)
			s.end(syscall.SIGTERM)
			e.expect(`"result":{"resultType":"complete"`)
			if more := e.next(); more != "" {
				t.Errorf("after the end: %s", more)
			}
		})
	}
}

// TestNginxKeepsIdleStreams has nginx cut what says nothing for four seconds, and comments every three, as the default of 15
// seconds outlives that of nginx, a minute.
func TestNginxKeepsIdleStreams(t *testing.T) {
	dir := docsTree(t)
	s := startWeb(t, "--keepalive", "3s", dir)
	startNginx(t, s, "proxy_read_timeout 4s;\n")
	message, h := modern("1", "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{"fs://docs/a.md"}}})
	answer := s.open(http.MethodPost, message, h)
	lines := bufio.NewScanner(answer.Body)
	for comments := 0; comments < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			comments++
		}
	}
	must(t, lines.Err())
	must(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("more\n"), 0o666))
	e := &events{t, lines, answer.Body}
	e.expect(`"uri":"fs://docs/a.md"`)
	s.end(syscall.SIGTERM)
}

// TestNginxPassesHangupsOn: a client that goes away frees its listen also behind a proxy.
func TestNginxPassesHangupsOn(t *testing.T) {
	s := startWeb(t, "--max-listens", "1", docsTree(t))
	startNginx(t, s, "")
	message, h := modern("1", "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
	late := time.Now().Add(patience)
	for opened := 0; opened < 5; {
		answer := s.open(http.MethodPost, message, h)
		answer.Body.Close() // of one that is refused, or hangs up
		switch {
		case answer.StatusCode == http.StatusOK:
			opened++
		case answer.StatusCode != http.StatusServiceUnavailable || time.Now().After(late):
			t.Fatalf("the listen of a client that is gone is still open: status %d", answer.StatusCode)
		}
	}
	s.end(syscall.SIGTERM)
}
