package client

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// binary is the program, as the server of the tests that need a real one.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "client")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "mcp-fsserve")
		if out, err := exec.Command("go", "build", "-o", binary, "../cmd/mcp-fsserve").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
		status := m.Run()
		if err := goleak.Find(); status == 0 && err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return status
	}())
}

// TestSourcesAreKnown makes the program's sources inputs of the test, so that a cached result of it is not taken for that of
// another program.
func TestSourcesAreKnown(t *testing.T) {
	n := 0
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		n++
		_, err = os.Stat(path)
		return err
	})
	if err != nil || n < 50 {
		t.Fatalf("%d sources, %v", n, err)
	}
}
