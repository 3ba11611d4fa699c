//go:build unix

package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTokensOfAPipeHaveALimit: what has no size is not read without end.
func TestTokensOfAPipeHaveALimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens")
	must(t, syscall.Mkfifo(name, 0o600))
	for size, want := range map[int]string{mostTokens: "line 2:", 4 * mostTokens: "larger than 1 MiB"} {
		written := make(chan error)
		go func() {
			written <- os.WriteFile(name, bytes.Repeat([]byte("x\n"), size/2+1)[:size], 0o600)
		}()
		w := web{tokenFile: name}
		if _, err := w.tokens(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %s", size, err, want)
		}
		if err := <-written; (err == nil) != (size <= mostTokens) { // it is told that nobody reads any more
			t.Errorf("%d bytes: written with %v", size, err)
		}
	}
}
