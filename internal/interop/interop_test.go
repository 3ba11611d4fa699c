package interop

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds the whole of one client's walk, which takes a second or two: nothing waits for it to pass.
const patience = 2 * time.Minute

var program, witness string // the paths of the built binaries

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "interop")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if err := build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build builds the program, in its own module, and the witness into dir.
func build(dir string) error {
	program, witness = filepath.Join(dir, "mcp-fsserve"), filepath.Join(dir, "witness")
	for _, c := range []struct{ dir, out, pkg string }{
		{filepath.Join("..", ".."), program, "./cmd/mcp-fsserve"},
		{".", witness, "./witness"},
	} {
		command := exec.Command("go", "build", "-o", c.out, c.pkg)
		command.Dir = c.dir
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %v\n%s", c.pkg, err, out)
		}
	}
	return nil
}

// client is what the walk needs of a client library, connected.
type client interface {
	version() string
	capabilities() any
	list(context.Context) (uris map[string]string, err error) // all pages, by name
	read(ctx context.Context, uri string) (contents, error)
	templates(context.Context) ([]string, error)
	complete(ctx context.Context, template, start string) ([]string, error) // for the variable path
	watch(ctx context.Context, uris ...string) error                        // these, and no others from now on
	close() error
}

// notice is a change of which a client library told its user: of the list, or of one resource.
type notice struct {
	listChanged bool
	uri         string
}

type contents struct {
	uri, mimeType, text string
	blob                []byte
}

func only[T any](all []T) (T, error) {
	if len(all) != 1 {
		var none T
		return none, fmt.Errorf("%d contents, not one", len(all))
	}
	return all[0], nil
}

// open connects a client library that speaks version to the server at a place. It may go on calling heard, and logging what
// it thinks is wrong, until the client is closed.
type open func(ctx context.Context, version string, at place, heard func(notice), log *slog.Logger) (client, error)

var (
	clients  = map[string]open{"go-sdk": openGoSDK, "mcp-go": openMCPGo}
	versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
)

func TestClients(t *testing.T) {
	for carrier, serve := range map[string]serve{"stdio": serveStdio, "http": serveHTTP} {
		for name, open := range clients {
			for _, version := range versions {
				t.Run(carrier+"/"+name+"/"+version, func(t *testing.T) {
					t.Parallel()
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					walk(ctx, t, serve, open, version)
				})
			}
		}
	}
}
