//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

// listening is mcp-fsserve listen, as it runs.
type listening struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // without their ends; closed with the output
	rest   string      // what the output ended with in place of a line's end; to be read when lines is closed
	stderr bytes.Buffer
}

func startListening(t *testing.T, args ...string) *listening {
	l := &listening{t: t, cmd: exec.Command("mcp-fsserve", append([]string{"listen"}, args...)...), lines: make(chan string)}
	l.cmd.Env = environment()
	l.cmd.Stderr = &l.stderr
	out, err := l.cmd.StdoutPipe()
	must(t, err)
	must(t, l.cmd.Start())
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	go func() {
		defer close(l.lines)
		text := make([]byte, 0, 4096)
		for buffer := make([]byte, 4096); ; {
			n, err := out.Read(buffer)
			text = append(text, buffer[:n]...)
			for i := bytes.IndexByte(text, '\n'); i >= 0; i = bytes.IndexByte(text, '\n') {
				l.lines <- string(text[:i])
				text = text[i+1:]
			}
			if err != nil {
				l.rest = string(text)
				return
			}
		}
	}()
	return l
}

func (l *listening) next() string {
	l.t.Helper()
	select {
	case line, ok := <-l.lines:
		if ok {
			return line
		}
	case <-time.After(patience):
	}
	l.t.Fatalf("nothing more was told; standard error: %s", l.stderr.String())
	return ""
}

// interrupt ends it as Ctrl-C does, and checks that this is a clean end.
func (l *listening) interrupt() {
	l.t.Helper()
	must(l.t, l.cmd.Process.Signal(os.Interrupt))
	for range l.lines {
	}
	if l.rest != "" {
		l.t.Errorf("the output ends with half a line: %q", l.rest)
	}
	if err := l.cmd.Wait(); err != nil || l.stderr.Len() > 0 {
		l.t.Errorf("ended with %v, and said %q", err, l.stderr.String())
	}
}

// TestListenEndsThoughItsOutputIsNotTaken: a signal is heeded while nobody reads the facts.
func TestListenEndsThoughItsOutputIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	must(t, os.WriteFile(file, []byte("one"), 0o666))
	l := startListening(t, "--read", "--uri-base", "test:///", dir)
	if got := l.next(); got != "live 1 resource" {
		t.Fatalf("the first line is %q", got)
	}
	must(t, os.WriteFile(filepath.Join(dir, ".a.md"), bytes.Repeat([]byte("more than a pipe holds\n"), 100_000), 0o666))
	must(t, os.Rename(filepath.Join(dir, ".a.md"), file))
	if got := l.next(); got != "updated test:///a.md" {
		t.Fatalf("told %q", got)
	}
	must(t, l.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() {
		state, err := l.cmd.Process.Wait()
		if err == nil && !state.Success() {
			err = errors.New(state.String())
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(patience):
		t.Error("it goes on")
		must(t, l.cmd.Process.Kill())
		<-ended
	}
	for range l.lines { // what is in the pipe
	}
}

// TestListenTellsAThousandChanges: whatever the pace, each file that changes after live is told, nothing is told before, and
// the interrupt is a clean end.
func TestListenTellsAThousandChanges(t *testing.T) {
	dir := t.TempDir()
	const half = 500
	old := func(i int) string { return fmt.Sprintf("old-%03d.md", i) }
	made := func(i int) string { return fmt.Sprintf("in/%d/new-%03d.md", i%7, i) }
	write := func(name, text string) error {
		file := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666))
	}
	for i := range half {
		must(t, write(old(i), "one"))
	}
	l := startListening(t, "--uri-base", "test:///", dir)
	if got := l.next(); got != fmt.Sprintf("live %d resources", half) {
		t.Fatalf("the first line is %q", got)
	}
	owed := map[string]bool{}
	for i := range half {
		owed["updated test:///"+old(i)] = true
		owed["list + test:///"+made(i)] = true
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for i := range half {
			err = errors.Join(err, write(old(i), "two"), write(made(i), "one"))
		}
		written <- err
	}()
	for len(owed) > 0 {
		line := l.next()
		if strings.HasPrefix(line, "list - ") || strings.HasPrefix(line, "l") && !strings.HasPrefix(line, "list + ") {
			t.Fatalf("told %q", line)
		}
		delete(owed, line)
	}
	must(t, <-written)
	l.interrupt()
}

// TestInterruptInAStormIsACleanEnd: what is told until then are whole lines.
func TestInterruptInAStormIsACleanEnd(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.md", i)), nil, 0o666))
	}
	l := startListening(t, "--read", dir)
	if got := l.next(); got != "live 100 resources" {
		t.Fatalf("the first line is %q", got)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				if os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.md", i%100)), fmt.Appendf(nil, "%d", i), 0o666) != nil {
					return
				}
			}
		}
	}()
	for range 50 {
		l.next()
	}
	l.interrupt()
	close(stop)
	<-stopped
}

// TestInterruptEndsAServerThatStalls: the server is stopped by a signal, which ends no connection; the interrupt ends both.
func TestInterruptEndsAServerThatStalls(t *testing.T) {
	dir := t.TempDir()
	pid := filepath.Join(dir, ".pid")
	l := startListening(t, "--", "sh", "-c", `echo $$ >"$0"; exec mcp-fsserve "$1"`, pid, dir)
	if got := l.next(); got != "live 0 resources" {
		t.Fatalf("the first line is %q", got)
	}
	text, err := os.ReadFile(pid)
	must(t, err)
	var server int
	_, err = fmt.Sscan(string(text), &server)
	must(t, err)
	must(t, syscall.Kill(server, syscall.SIGSTOP))
	must(t, l.cmd.Process.Signal(os.Interrupt))
	for range l.lines {
	}
	if err := l.cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if err := syscall.Kill(server, 0); err != syscall.ESRCH {
		t.Errorf("the server is still there: %v", err)
	}
}

// TestRunnerGivesAllContents: a resource may hold several parts.
func TestRunnerGivesAllContents(t *testing.T) {
	var said bytes.Buffer
	r := newRunner("cat", &said, slog.New(slog.NewTextHandler(&said, nil)))
	r.once(t.Context(), client.Event{Kind: client.Updated, URI: "a", Contents: []client.Content{{Data: []byte("one ")}, {Data: []byte("two")}}})
	r.once(t.Context(), client.Event{Kind: client.Removed, URI: "a"})
	if said.String() != "one two" {
		t.Errorf("said %q", &said)
	}
}
