package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

// TestServerThatRefusesToStartIsAnError: this program refuses its own arguments every time.
func TestServerThatRefusesToStartIsAnError(t *testing.T) {
	var said, out bytes.Buffer
	f := &follower{target: &target{cfg: &config{}}, facts: &facts{out: &out}}
	to := client.Command("mcp-fsserve", "--nonsense")
	to.Stderr = heedful{&said, &f.target.said}
	f.client = client.New(to, client.Want{Listed: true}, &client.Options{Retry: f.again})
	err := f.run(t.Context())
	if err == nil || err.Error() != "the server ended: exit status 2" {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(said.String(), "unknown flag: --nonsense") {
		t.Errorf("the server's words were not passed on: %q", said.String())
	}
	var h *hinted
	if !errors.As(err, &h) || h.hint == "" {
		t.Error("no hint")
	}
	if out.Len() > 0 {
		t.Errorf("printed %s", out.String())
	}
}

func TestServerThatIsLostIsTriedAgain(t *testing.T) {
	left := fmt.Errorf("the server ended: %w", errors.New("exit status 3"))
	for name, test := range map[string]struct {
		own, live bool
		err       error
		want      bool
	}{
		"directories refused":          {own: true, err: left},
		"directories, once live":       {own: true, live: true, err: left, want: true},
		"a command that crashes":       {err: left, want: true},
		"a command that is none":       {err: fmt.Errorf("server does not start: %w", &exec.Error{Name: "x", Err: exec.ErrNotFound})},
		"a command that cannot start":  {err: fmt.Errorf("server does not start: %w", &os.PathError{Op: "fork/exec", Path: "x", Err: os.ErrPermission})},
		"one that cannot any more":     {live: true, err: &exec.Error{Name: "x", Err: exec.ErrNotFound}, want: true},
		"nobody at the URL":            {err: errors.New("connection refused"), want: true},
		"a URL that wants a token":     {err: fmt.Errorf("server/discover: %w", &client.StatusError{Status: 401})},
		"a URL that lets nobody in":    {err: &client.StatusError{Status: 403}},
		"a URL that has too much work": {err: &client.StatusError{Status: 503}, want: true},
		"a revision nobody knows":      {err: fmt.Errorf("%w: it supports 2031-01-01", client.ErrVersion)},
	} {
		f := &follower{target: &target{}}
		if test.own {
			f.target.cfg = &config{}
		}
		f.live.Store(test.live)
		if got := f.again(test.err, 1); got != test.want {
			t.Errorf("%s: tried again: %v", name, got)
		}
	}
}

func TestRunnerOwesASet(t *testing.T) {
	r := newRunner("", io.Discard, slog.New(slog.DiscardHandler))
	for _, e := range []client.Event{
		{Kind: client.Live}, {Kind: client.Lost, Err: io.EOF},
		{Kind: client.Updated, URI: "a"}, {Kind: client.Added, URI: "b"}, {Kind: client.Updated, URI: "b"}, {Kind: client.Removed, URI: "a"},
	} {
		r.add(e)
	}
	var got []string
	for e, ok := r.next(); ok; e, ok = r.next() {
		got = append(got, e.Kind.String()+" "+e.URI)
	}
	if strings.Join(got, ", ") != "removed a, updated b" {
		t.Errorf("runs for %q", got)
	}
	if r.order != nil || len(r.owed) > 0 {
		t.Error("what was run for is kept")
	}
}

func TestURIsAreToldFromDirectories(t *testing.T) {
	dirs, uris := splitURIs([]string{"~/notes", "docs=a", "test://x", "./a://b", "a+b-c.1:///", "1://x", "://", "C:/x"})
	if got := strings.Join(dirs, " "); got != "~/notes docs=a ./a://b 1://x :// C:/x" {
		t.Errorf("directories: %s", got)
	}
	if got := strings.Join(uris, " "); got != "test://x a+b-c.1:///" {
		t.Errorf("URIs: %s", got)
	}
}
