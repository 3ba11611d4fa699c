package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// stubborn is a server that does not end with its input; TestMain makes it a command.
func stubborn() {
	os.Stdout.WriteString("started\n")
	<-time.After(time.Hour)
}

// firstWrite is a writer that closes itself at the first write.
type firstWrite struct{ came chan struct{} }

func (f firstWrite) Write(b []byte) (int, error) {
	select {
	case <-f.came:
	default:
		close(f.came)
	}
	return len(b), nil
}

func TestServerThatRefusesToStartIsAnError(t *testing.T) {
	var said bytes.Buffer
	err := listenTo(t.Context(), []string{"--nonsense"}, newFacts(io.Discard, false), &said, slog.New(slog.DiscardHandler))
	if err == nil || err.Error() != "the server ended by itself: exit status 2" {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(said.String(), "unknown flag: --nonsense") {
		t.Errorf("the server's words were not passed on: %q", said.String())
	}
	var h *hinted
	if !errors.As(err, &h) || h.hint == "" {
		t.Error("no hint")
	}
}

func TestServerThatIsKilledIsAnError(t *testing.T) {
	server, err := startSelf([]string{t.TempDir()}, io.Discard)
	must(t, err)
	live := firstWrite{make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- follow(t.Context(), server, newFacts(live, false), slog.New(slog.DiscardHandler)) }()
	select {
	case <-live.came:
	case <-time.After(patience):
		t.Fatal("never live")
	}
	must(t, server.cmd.Process.Kill())
	select {
	case err := <-ended:
		if err == nil || !strings.HasPrefix(err.Error(), "the server ended by itself: ") {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("goes on without a server")
	}
}

func TestServerThatDoesNotEndIsKilled(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Args[0] = "stubborn"
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	started := firstWrite{make(chan struct{})}
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(started, out)
		read <- err
	}()
	select {
	case <-started.came:
	case <-time.After(patience):
		t.Fatal("did not start")
	}
	server := &child{cmd: cmd, in: in, out: out}
	if err := server.end(time.Millisecond, read); !errors.Is(err, errKilled) {
		t.Errorf("ended with %v", err)
	}
	if cmd.ProcessState == nil {
		t.Error("not reaped")
	}
}
