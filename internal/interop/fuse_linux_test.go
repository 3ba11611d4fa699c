//go:build fuse

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// mirror mounts a directory a second time through FUSE. What is changed in dir is changed in the mount without an event there.
func mirror(t *testing.T) (dir, mount string) {
	t.Helper()
	dir, mount = t.TempDir(), t.TempDir()
	root, err := fs.NewLoopbackRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	second := time.Second // for which the kernel goes by what it knows, as is usual
	server, err := fs.Mount(mount, root, &fs.Options{
		EntryTimeout: &second, AttrTimeout: &second, MountOptions: fuse.MountOptions{DirectMountStrict: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return dir, mount
}

// listener is the program as it prints what a listener is told.
type listener struct {
	*testing.T
	lines  *bufio.Scanner
	stderr bytes.Buffer
	stop   func()
}

func listen(ctx context.Context, t *testing.T, dir string) *listener {
	t.Helper()
	l := &listener{T: t}
	command := exec.CommandContext(ctx, program, "listen", "--log-level", "info", dir)
	command.Stderr = &l.stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	l.lines = bufio.NewScanner(stdout)
	l.stop = func() {
		_ = command.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stdout)
		if err := command.Wait(); err != nil {
			t.Errorf("the program ends with %v:\n%s", err, &l.stderr)
		}
	}
	return l
}

// await reads lines until one matches.
func (l *listener) await(pattern string) {
	l.Helper()
	for re := regexp.MustCompile(pattern); l.lines.Scan(); {
		if re.MatchString(l.lines.Text()) {
			return
		}
	}
	l.Fatalf("no line matches %s: %v\n%s", pattern, l.lines.Err(), &l.stderr)
}

// TestFUSE serves a FUSE mount. What is changed through it is told, and what is changed behind it is found, and once is said
// why that takes longer.
func TestFUSE(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, mount := mirror(t)
	write := func(path ...string) {
		t.Helper()
		name := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(time.Now().String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(path ...string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(path...)); err != nil {
			t.Fatal(err)
		}
	}
	write(dir, "a.md")
	write(dir, "d", "b.md")
	l := listen(ctx, t, mount)
	l.await("^live 2 ")
	for _, side := range []string{dir, mount, dir} {
		write(side, "a.md")
		l.await("^updated .*/a.md$")
		write(side, "d", "b.md")
		l.await("^updated .*/d/b.md$")
		write(side, "d", "new.md")
		l.await(`^list \+ .*/d/new.md$`)
		write(side, "e", "f", "g.md")
		l.await(`^list \+ .*/e/f/g.md$`)
		write(side, "e", "f", "g.md")
		l.await("^updated .*/e/f/g.md$")
		remove(side, "e")
		l.await("^list - .*/e/f/g.md$")
		remove(side, "d", "new.md")
		l.await("^list - .*/d/new.md$")
	}
	l.stop()
	if said := l.stderr.String(); strings.Count(said, "\n") != 2 || !strings.Contains(said, "type=fuse") {
		t.Errorf("said\n%s", said)
	}
}

// TestFUSEList: who asks for the list is told of files that were made behind the mount a moment ago, though the kernel goes by what
// it knows of the directory for a second.
func TestFUSEList(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, mount := mirror(t)
	if err := os.WriteFile(filepath.Join(dir, "a.md"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, program, "--log-level", "debug", mount)
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
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
	for said := bufio.NewScanner(stderr); ; { // until the first scan is over, answers need not tell of what happens
		if !said.Scan() {
			t.Fatalf("the directory is not watched: %v", said.Err())
		}
		if strings.Contains(said.Text(), "the directory is watched") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	answers := bufio.NewReader(stdout)
	id := 0
	ask := func(method, params string) string {
		t.Helper()
		id++
		if _, err := fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
		for {
			answer, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(answer, fmt.Sprintf(`"id":%d,`, id)) {
				return answer
			}
		}
	}
	ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"interop","version":"0"}}`)
	for i := range 20 {
		name := fmt.Sprintf("new%d.md", i)
		if _, err := os.Stat(mount); err != nil { // what the kernel knows is new
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if answer := ask("resources/list", "{}"); !strings.Contains(answer, name) {
			t.Errorf("%s is not in %s", name, answer)
		}
	}
	_ = stdin.Close()
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}
