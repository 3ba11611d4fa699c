package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme compiles the lines for Go servers in the README of the project, as a command of this module that is on no disk.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "\n## For Go servers\n")
	_, rest, _ = strings.Cut(rest, "\n```go\n")
	code, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatal("the README has no code for Go servers")
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	here, err := filepath.Abs(filepath.Join("readme", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{here: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{overlay: string(replaced), file: `package main

import (
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

var (
	ctx     context.Context
	server  *mcp.Server
	handler http.Handler
)

func main() {
` + code + `
	panic(err)
}
`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", os.DevNull, "./readme").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
