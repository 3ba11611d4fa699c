package examples

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds one test, which takes seconds: nothing waits for it to pass.
const patience = 2 * time.Minute

// bin has the built programs.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "examples")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		if err = build("..", "./cmd/mcp-fsserve"); err == nil {
			err = build(".", "./clock", "./go-sdk", "./mcp-go", "./plain")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build builds commands of the module in dir.
func build(dir string, commands ...string) error {
	build := exec.Command("go", append([]string{"build", "-o", bin + string(filepath.Separator)}, commands...)...)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %v\n%s", commands, err, out)
	}
	return nil
}

func program(name string) string { return filepath.Join(bin, name) }

// overHTTP starts a server, and returns its URL, until the end of the test.
func overHTTP(t *testing.T, name string, args ...string) (url string) {
	t.Helper()
	url, leave := serveHTTP(t, name, args...)
	t.Cleanup(leave)
	return url
}

// serveHTTP starts a server. leave interrupts it, upon which it must leave in good order.
func serveHTTP(t *testing.T, name string, args ...string) (url string, leave func()) {
	t.Helper()
	server := exec.Command(program(name), append(args, "--http", "127.0.0.1:0")...)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	lines.Scan()
	_, url, found := strings.Cut(lines.Text(), "url=")
	leave = func() {
		_ = server.Process.Signal(os.Interrupt)
		for lines.Scan() {
			t.Logf("%s says: %s", name, lines.Text())
		}
		if err := server.Wait(); err != nil {
			t.Errorf("%s ends with %v", name, err)
		}
	}
	if !found {
		said := lines.Text()
		leave()
		t.Fatalf("%s says no URL but %q", name, said)
	}
	return url, leave
}
