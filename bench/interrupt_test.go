package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal in the middle of a run ends the servers, and leaves nothing behind.
func TestInterruptedRunsTidyUp(t *testing.T) {
	bin, scratch := t.TempDir(), t.TempDir()
	if err := errors.Join(build(t.Context(), ".", bin, "."), build(t.Context(), "..", bin, "./cmd/mcp-fsserve")); err != nil {
		t.Fatal(err)
	}
	for _, measure := range []string{"read1m", "read1k-rate", "listens", "ways", "stalled", "stdio", "growth-files"} {
		command := exec.CommandContext(t.Context(), filepath.Join(bin, "bench"), "-quick", "-ours", bin+"/mcp-fsserve", "-servers", "none", "-only", measure)
		command.Env = append(os.Environ(), "TMPDIR="+scratch)
		said, err := command.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(said)
		for line := ""; !strings.Contains(line, "round 1 of 1"); {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		waitForServers(t, scratch) // the signal comes while one runs
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(lines)
		if err := command.Wait(); err == nil || !strings.Contains(string(rest), "interrupted") {
			t.Errorf("%s: it ends with %v and says %q", measure, err, rest)
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", measure, left, err)
		}
		if left := running(t, scratch); len(left) > 0 {
			t.Errorf("%s: servers are left: %v", measure, left)
		}
	}
}

// So it does while the servers are built, of which go keeps parts.
func TestInterruptedBuildsTidyUp(t *testing.T) {
	bin, scratch := t.TempDir(), t.TempDir()
	if err := build(t.Context(), ".", bin, "."); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(bin, "bench"), "-quick", "-servers", "none", "-only", "stdio")
	command.Env = append(os.Environ(), "TMPDIR="+scratch, "GOTMPDIR=")
	var said strings.Builder
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for parts := 0; parts == 0; {
		if patience.Err() != nil {
			t.Fatal("nothing is built")
		}
		for _, pattern := range []string{"go-build*", "*/*/go-build*"} {
			found, err := filepath.Glob(filepath.Join(scratch, pattern))
			if err != nil {
				t.Fatal(err)
			}
			parts += len(found)
		}
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("it ends with %v and says %q", err, said.String())
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// waitForServers returns when a process runs that has a path in dir on its command line.
func waitForServers(t *testing.T, dir string) {
	t.Helper()
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(running(t, dir)) == 0 {
		if patience.Err() != nil {
			t.Fatal("no server is started")
		}
	}
}

// running are the processes that have a path in dir on their command line.
func running(t *testing.T, dir string) (commands []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if command, err := os.ReadFile(path); err == nil && strings.Contains(string(command), dir) {
			commands = append(commands, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return commands
}

// commands are a directory with commands that are shell scripts.
func commands(t *testing.T, says map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range says {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// copied is a directory with a copy of a script.
func copied(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// script runs a copy of the script whose go is another, which makes what the script then runs.
func script(t *testing.T, goSays string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	dir := copied(t, "run")
	command := exec.CommandContext(t.Context(), filepath.Join(dir, "run"), args...)
	command.Env = append(os.Environ(), "PATH="+commands(t, map[string]string{"go": goSays})+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
	return command, dir
}

// programs is a go that makes a program of a shell script, for `go build -C DIR -o PATH .`
func programs(says string) string {
	return "cat >\"$5\" <<'END'\n#!/bin/sh\n" + says + "\nEND\nchmod +x \"$5\""
}

// Modules that were installed in part are not taken for installed, neither now nor in the next run.
func TestModulesThatCannotBeInstalled(t *testing.T) {
	dir := typescriptSource(t, "mkdir node_modules; echo no network >&2; exit 1")
	if _, err := typescriptPeer(t.Context(), dir); !errors.Is(err, errLeftOut) || !strings.Contains(err.Error(), "no network") {
		t.Errorf("the server is not left out: %v", err)
	}
	if exists(filepath.Join(dir, "node_modules")) {
		t.Error("what npm left is taken for what it should have installed")
	}
}

// Modules are installed for the first who wants that server, and by CI for the tests.
func TestModulesAreInstalledOnce(t *testing.T) {
	dir := typescriptSource(t, `[ ! -d node_modules ] && mkdir -p node_modules/@modelcontextprotocol/server && `+
		`echo '{"version":"1.2.3"}' >node_modules/@modelcontextprotocol/server/package.json`)
	for range 2 {
		if p, err := typescriptPeer(t.Context(), dir); err != nil || p.version != "1.2.3" {
			t.Errorf("the server is %+v, %v", p, err)
		}
	}
}

// Who interrupts an installation ends npm too, and what it has installed in part is removed.
func TestInterruptedInstallationsTidyUp(t *testing.T) {
	dir := typescriptSource(t, "mkdir node_modules; exec sleep 60")
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		defer interrupt()
		for !exists(filepath.Join(dir, "node_modules")) && ctx.Err() == nil {
		}
	}()
	if _, err := typescriptPeer(ctx, dir); !errors.Is(err, errLeftOut) {
		t.Errorf("the server is not left out: %v", err)
	}
	if exists(filepath.Join(dir, "node_modules")) {
		t.Error("what npm has installed in part is left")
	}
}

// typescriptSource has what installs the server on the TypeScript SDK, by an npm of the test's own.
func typescriptSource(t *testing.T, npmSays string) string {
	t.Helper()
	dir := copied(t, "servers/typescript/install")
	if err := os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", commands(t, map[string]string{"npm": npmSays, "node": ":"})+":"+os.Getenv("PATH"))
	return dir
}

// What a build leaves that was ended is removed with the program.
func TestTheScriptAfterABuildThatFailed(t *testing.T) {
	command, _ := script(t, `mkdir "${GOTMPDIR:-$TMPDIR}/go-build1"; exit 1`)
	scratch := t.TempDir()
	command.Env = append(command.Env, "TMPDIR="+scratch, "GOTMPDIR=")
	if out, err := command.Output(); err == nil {
		t.Errorf("it says %q, as if it had measured", out)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// The script hands on where it is, its arguments, and how the program ends.
func TestTheScriptHandsOn(t *testing.T) {
	command, dir := script(t, programs(`echo "$@"; exit 7`), "-only", "a b")
	command.Dir = t.TempDir()
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 7 {
		t.Errorf("it ends with %v, want the status 7", err)
	}
	if want := "-source " + dir + " -only a b\n"; string(out) != want {
		t.Errorf("the program is given %q, want %q", out, want)
	}
}

// Who ends the script ends the program, or go that builds it, which has time to tidy up.
func TestTheScriptHandsOnSignals(t *testing.T) {
	const untilTold = `trap 'echo tidy; exit 1' TERM; echo ready; while :; do sleep 0.1; done`
	for _, c := range []struct {
		goSays string
		signal os.Signal
	}{
		{programs(untilTold), syscall.SIGTERM},
		{programs(untilTold), syscall.SIGINT},
		{untilTold, syscall.SIGTERM}, // during the build
		{untilTold, syscall.SIGINT},
	} {
		command, _ := script(t, c.goSays)
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("it says %q", lines.Text())
		}
		if err := command.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != "tidy" {
			t.Errorf("after %v it says %q", c.signal, lines.Text())
		}
		if err := command.Wait(); err == nil {
			t.Errorf("after %v it ends as if it had measured", c.signal)
		}
	}
}

// An interrupted connection is closed, whatever it waits for.
func TestConnectionsEndWithTheirContext(t *testing.T) {
	_, endpoint := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that it is seen that the client leaves
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := dial(ctx, endpoint, nil, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go cancel()
	if r, err := c.ask(discover().post(endpoint, 1)); err == nil {
		t.Errorf("there is an answer, with the status %d", r.status)
	}
}
