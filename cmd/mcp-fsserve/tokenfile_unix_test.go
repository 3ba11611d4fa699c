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
	for size, want := range map[int]string{mostTokens: "line 2:", mostTokens + 1: "larger than 1 MiB"} {
		written := make(chan error)
		go func() {
			written <- os.WriteFile(name, bytes.Repeat([]byte("x\n"), size/2+1)[:size], 0o600)
		}()
		w := web{tokenFile: name}
		if _, err := w.tokens(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %s", size, err, want)
		}
		<-written // or it is told that nobody reads any more
	}
}
