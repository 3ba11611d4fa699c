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
	for parts := 0; parts == 0; {
		if t.Context().Err() != nil {
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
	for len(running(t, dir)) == 0 {
		if t.Context().Err() != nil {
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

// script runs a copy of the script whose commands are others: go, which makes what the script then runs, and npm.
func script(t *testing.T, goSays, npmSays string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	dir, path := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go": goSays, "npm": npmSays, "node": ":"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	modules := filepath.Join(dir, "servers/typescript")
	if err := os.MkdirAll(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "servers/typescript/install"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(modules, "package-lock.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(dir, "run"), args...)
	command.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
	return command, modules
}

// programs is a go that makes a program of a shell script, for `go build -C DIR -o PATH .`
func programs(says string) string {
	return "cat >\"$5\" <<'END'\n#!/bin/sh\n" + says + "\nEND\nchmod +x \"$5\""
}

// Modules that were installed in part are not taken for installed, neither now nor in the next run.
func TestTheScriptAfterAnInstallationThatFailed(t *testing.T) {
	command, modules := script(t, programs("echo measured"), "mkdir node_modules; exit 1")
	out, err := command.Output()
	if err != nil || string(out) != "measured\n" {
		t.Errorf("it says %q, %v", out, err)
	}
	if exists(filepath.Join(modules, "node_modules")) {
		t.Error("what npm left is taken for what it should have installed")
	}
}

// What is tested of the server on the TypeScript SDK needs its modules, which CI installs. They are installed once.
func TestTheModulesAreInstalledOnce(t *testing.T) {
	command, modules := script(t, programs("echo measured"), "mkdir node_modules; echo installed")
	var said strings.Builder
	command.Stderr = &said
	if err := command.Run(); err != nil || said.String() != "installed\n" {
		t.Errorf("it says %q, %v", said.String(), err)
	}
	again := exec.CommandContext(t.Context(), filepath.Join(modules, "install"))
	again.Env = command.Env
	if out, err := again.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the second time it says %q, %v", out, err)
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil || !strings.Contains(string(ci), "servers/typescript/install && ") {
		t.Errorf("CI does not install them: %v", err)
	}
}

// What a build leaves that was ended is removed with the program.
func TestTheScriptAfterABuildThatFailed(t *testing.T) {
	command, _ := script(t, `mkdir "${GOTMPDIR:-$TMPDIR}/go-build1"; exit 1`, "mkdir node_modules")
	scratch := t.TempDir()
	command.Env = append(command.Env, "TMPDIR="+scratch, "GOTMPDIR=")
	if out, err := command.Output(); err == nil {
		t.Errorf("it says %q, as if it had measured", out)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Help needs no modules, and says nothing besides.
func TestTheScriptHelpsAtOnce(t *testing.T) {
	for _, flag := range []string{"-help", "--help", "-h", "--h"} {
		command, modules := script(t, programs(`echo "help for $3" >&2`), "echo installed >&2; mkdir node_modules", flag)
		var said strings.Builder
		command.Stderr = &said
		if err := command.Run(); err != nil || said.String() != "help for "+flag+"\n" {
			t.Errorf("%s: it says %q, %v", flag, said.String(), err)
		}
		if exists(filepath.Join(modules, "node_modules")) {
			t.Errorf("%s: modules are installed", flag)
		}
	}
}

// The script hands on where it is, its arguments, and how the program ends.
func TestTheScriptHandsOn(t *testing.T) {
	command, modules := script(t, programs(`echo "$@"; exit 7`), "mkdir node_modules", "-only", "a b")
	command.Dir = t.TempDir()
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 7 {
		t.Errorf("it ends with %v, want the status 7", err)
	}
	if want := "-source " + filepath.Dir(filepath.Dir(modules)) + " -only a b\n"; string(out) != want {
		t.Errorf("the program is given %q, want %q", out, want)
	}
}

// Who ends the script ends the program, which has time to tidy up.
func TestTheScriptHandsOnSignals(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		command, _ := script(t, programs(`trap 'echo tidy; exit 1' TERM; echo ready; while :; do sleep 0.1; done`), "mkdir node_modules")
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
		if err := command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != "tidy" {
			t.Errorf("after %v it says %q", signal, lines.Text())
		}
		if err := command.Wait(); err == nil {
			t.Errorf("after %v it ends as if it had measured", signal)
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
