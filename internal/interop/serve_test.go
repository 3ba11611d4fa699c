package interop

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// place is where a client finds the server: behind a command that it starts, or at a URL.
type place struct {
	command    []string
	url, token string
}

// client shows the token, if there is one, with each request.
func (p place) client() *http.Client { return &http.Client{Transport: bearer(p.token)} }

type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(token))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// serve serves root over a wire until leave is called, which is done when the client is closed.
type serve func(t *testing.T, root string, w *wire) (at place, leave func())

// serveStdio leaves the start to the client, which ends the server as well.
func serveStdio(_ *testing.T, root string, w *wire) (place, func()) {
	return place{command: []string{witness, w.socket, program, root}}, func() {}
}

// serveHTTP admits clients with a token alone.
func serveHTTP(t *testing.T, root string, w *wire) (place, func()) {
	t.Helper()
	const token = "open-sesame"
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("interop "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(witness, "-http", w.socket, program, "--http", "127.0.0.1:0", "--token-file", tokens, root)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	leave := func() { _ = stdin.Close() }
	t.Cleanup(func() {
		leave()
		_ = command.Wait() // its status is in the record
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the witness says no URL: %v", err)
	}
	return place{url: strings.TrimSpace(url), token: token}, leave
}

// TestTokens lets clients ask without a token and with a wrong one, where the walk has the right one.
func TestTokens(t *testing.T) {
	for name, open := range clients {
		for _, version := range []string{"2025-11-25", modern} {
			for which, token := range map[string]string{"none": "", "wrong": "open-barley"} {
				t.Run(name+"/"+version+"/"+which, func(t *testing.T) {
					t.Parallel()
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					wire := newWire(t)
					at, leave := serveHTTP(t, t.TempDir(), wire)
					at.token = token
					client, err := open(ctx, version, at, func(notice) {}, slog.New(slog.DiscardHandler))
					if err == nil {
						t.Error("was admitted")
						_ = client.close()
					}
					leave()
					checkRefused(t, wire.checkEnd(ctx, t))
				})
			}
		}
	}
}

// checkRefused checks that a client has asked, and that everything was refused for the lack of a token.
func checkRefused(t *testing.T, said []entry) {
	t.Helper()
	if !slices.ContainsFunc(said, func(e entry) bool { return e.isRequest() }) {
		t.Error("nothing was asked")
	}
	for _, e := range said {
		if e.isResponse() && (e.Error == nil || !strings.Contains(e.Error.Message, "token")) {
			t.Errorf("answered without a token: %s", e.Line)
		}
	}
}

// checkStatuses checks what over HTTP came without a message: notifications are accepted, and an older client that closes has
// ended its session, which the server has confirmed.
func checkStatuses(t *testing.T, at place, version string, said []entry) {
	t.Helper()
	var got []string
	for _, e := range said {
		if e.HTTP != "" && e.HTTP != "POST 202" {
			got = append(got, e.HTTP)
		}
	}
	var want []string
	if at.url != "" && version != modern {
		want = []string{"DELETE 204"}
	}
	if !slices.Equal(got, want) {
		t.Errorf("statuses are %q, want %q", got, want)
	}
}
