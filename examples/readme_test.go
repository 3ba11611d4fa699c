package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// block is the first fenced block of a language behind a heading of a README.
func block(t *testing.T, readme, heading, language string) string {
	t.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+heading+"\n")
	_, rest, _ = strings.Cut(rest, "\n```"+language+"\n")
	code, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatalf("%s has no %s behind %s", readme, language, heading)
	}
	return code
}

// TestReadmeBuilds runs the lines that build in the README of this directory as they stand there, but into a directory of
// the test.
func TestReadmeBuilds(t *testing.T) {
	dir, built := t.TempDir(), 0
	for line := range strings.Lines(block(t, "README.md", "# Servers to copy from", "sh")) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "go" || fields[1] != "build" {
			continue
		}
		at := slices.Index(fields, "/tmp/")
		if at < 0 {
			t.Fatalf("%q does not build into /tmp/", line)
		}
		fields[at] = dir + string(filepath.Separator)
		if out, err := exec.Command(fields[0], fields[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s%v\n%s", line, err, out)
		}
		built++
	}
	if built == 0 {
		t.Error("README.md builds nothing")
	}
	for _, name := range []string{"clock", "go-sdk", "mcp-go", "plain", "mcp-fsserve"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("README.md does not build %s", name)
		}
	}
}

// TestReadmeShowsWhatIsBroken: what the README of this directory shows of mcp-go is what TestBare finds, and ack-first, of
// which that says nothing.
func TestReadmeShowsWhatIsBroken(t *testing.T) {
	shown := strings.Fields(block(t, "README.md", "# Servers to copy from", "text"))
	if want := strings.Fields("ack-first " + bareMCPGo); !slices.Equal(shown, want) {
		t.Errorf("README.md shows %q, broken are %q", shown, want)
	}
}

// TestReadme compiles the lines of Go in the README of the project, as commands of this module that are on no disk.
func TestReadme(t *testing.T) {
	for _, lines := range []struct{ heading, imports, around string }{
		{
			heading: "## For Go servers",
			imports: `"context"; "errors"; "net/http"; "os"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"`,
			around: `var (
	ctx     context.Context
	server  *mcp.Server
	handler http.Handler
)
func main() {
	%s
	panic(err)
}`,
		},
		{
			heading: "## For Go clients",
			imports: `"context"; "fmt"
	"github.com/mcp-fsserve/mcp-fsserve/client"`,
			around: `var ctx context.Context
func main() {
	%s
	panic(err)
}`,
		},
	} {
		t.Run(lines.heading, func(t *testing.T) {
			code := block(t, filepath.Join("..", "README.md"), lines.heading, "go")
			compile(t, "package main\nimport (\n\t"+lines.imports+"\n)\n"+strings.Replace(lines.around, "%s", code, 1)+"\n")
		})
	}
}

// TestPackageComments compiles the first lines of Go that the packages for others have in their comments.
func TestPackageComments(t *testing.T) {
	for name, around := range map[string]string{
		"listen": `package main
import (
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)
func main() {
%s
	_ = listens
}
`,
		"transport": `package main
import (
	"errors"
	"io"
	"net/http"
	"os"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)
var (
	hub     *listen.Hub
	source  listen.Source
	handler http.Handler
	serve   func(io.Reader, io.Writer) error
)
func main() {
%s
	panic(err)
}
`,
		"client": `package main
import (
	"context"
	"fmt"
	"github.com/mcp-fsserve/mcp-fsserve/client"
)
var ctx context.Context
func main() {
%s
	panic(err)
}
`,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", name, "doc.go"))
			if err != nil {
				t.Fatal(err)
			}
			var code strings.Builder
			begun := false
			for line := range strings.Lines(string(text)) {
				line, indented := strings.CutPrefix(line, "//\t")
				begun = begun || indented
				switch {
				case indented:
					code.WriteString(line)
				case begun && line != "//\n":
					compile(t, strings.Replace(around, "%s", code.String(), 1))
					return
				}
			}
			t.Error("there are none")
		})
	}
}

// compile compiles the one file of a command.
func compile(t *testing.T, text string) {
	t.Helper()
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
	for name, text := range map[string]string{overlay: string(replaced), file: text} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", os.DevNull, "./readme").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
}
