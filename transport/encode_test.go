package transport

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// TestAnImplementationIsEncodedAsByItsTags: clients read it by them.
func TestAnImplementationIsEncodedAsByItsTags(t *testing.T) {
	for _, i := range []mcp.Implementation{
		{Name: "mcp-fsserve", Version: "1.2.3"},
		{Name: "a \"name\"", Title: "A title", Version: "ü"},
		{},
	} {
		want, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendImplementation(nil, i); string(got) != string(want) {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestNothingIsEncodedByReflection: of that a process has tables for each type, from the first use on, and the code that
// makes them. They would be a twentieth of what a server has resident when it has started.
func TestNothingIsEncodedByReflection(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := gotoken.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "json" {
				switch s.Sel.Name {
				case "Marshal", "MarshalIndent", "NewEncoder":
					t.Errorf("%s: json.%s", set.Position(s.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
}
