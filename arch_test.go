// Package mcpfsserve_test asserts what holds for the module as a whole: which package may import which, that each
// says its job in one package comment, and that the documents name what is there.
package mcpfsserve_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcp-fsserve/mcp-fsserve"

// allowed is the import line: for each package, everything outside the standard library that its shipped files may
// import. An event goes from watcher to resources to listen to transport; no import runs back along its path.
var allowed = map[string][]string{
	"internal/jsonrpc": {},
	"internal/mcp":     {},
	"internal/storm":   {}, // only tests
	"internal/wire":    {"internal/jsonrpc", "internal/mcp"},
	"internal/verify":  {"internal/wire", "internal/jsonrpc", "internal/mcp"},
	"watcher":          {"github.com/fsnotify/fsnotify", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
	"resources":        {"watcher", "internal/mcp", "github.com/gobwas/glob", "golang.org/x/sys/unix"},
	"listen":           {"internal/jsonrpc"},
	"transport":        {"listen", "internal/jsonrpc", "internal/mcp", "golang.org/x/sync/semaphore", "golang.org/x/sys/unix"},
	"client":           {"listen", "internal/wire", "internal/jsonrpc", "internal/mcp"},
	"cmd/mcp-fsserve": {"watcher", "resources", "listen", "transport", "client", "internal/verify", "internal/wire", "internal/jsonrpc", "internal/mcp",
		"github.com/spf13/cobra", "github.com/spf13/pflag"},
}

// source is one shipped package: all its Go files but tests, for every platform.
type source struct {
	imports  map[string][]string // by import path, the files that import it
	comments []string            // files with a package comment
}

func sources(t *testing.T) map[string]*source {
	t.Helper()
	all := map[string]*source{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || isModule(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if all[dir] == nil {
			all[dir] = &source{imports: map[string][]string{}}
		}
		return all[dir].add(filepath.ToSlash(name), file)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// isModule reports whether dir is the root of a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return dir != "." && err == nil
}

func (s *source) add(name string, file *ast.File) error {
	if file.Doc != nil {
		s.comments = append(s.comments, name)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		s.imports[imported] = append(s.imports[imported], name)
	}
	return nil
}

func TestImportsRunOneWay(t *testing.T) {
	for dir, s := range sources(t) {
		may, known := allowed[dir]
		if !known {
			t.Errorf("package %s has no place in the import line", dir)
			continue
		}
		for imported, files := range s.imports {
			short := strings.TrimPrefix(imported, module+"/")
			if isStandard(imported) || slices.Contains(may, short) {
				continue
			}
			t.Errorf("%s must not import %s (%s)", dir, short, strings.Join(files, ", "))
		}
	}
}

// isStandard reports whether an import path is one of the standard library: only those have no dot in their first
// segment.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func TestEveryPackageHasOneComment(t *testing.T) {
	found := sources(t)
	for dir := range allowed {
		s := found[dir]
		if s == nil {
			t.Errorf("package %s is gone", dir)
			continue
		}
		if len(s.comments) != 1 {
			t.Errorf("%s has %d package comments %v, want 1", dir, len(s.comments), s.comments)
		}
	}
}

// TestPublicTypesHaveNames: what the packages that anybody may import declare is made of types that anybody can name. What is
// internal has an alias there. Not so the Catalogue of transport, which is that of resources.
func TestPublicTypesHaveNames(t *testing.T) {
	for _, dir := range publicPackages {
		for name, file := range parsed(t, dir) {
			for _, node := range public(file) {
				visit(node, func(n ast.Node) {
					if internal, typ := internalType(file, n); internal != "" {
						t.Errorf("%s: %s of %s has no name outside of the module", name, typ, internal)
					}
				})
			}
		}
	}
}

// TestWhatAliasesStandForHasNames: nor is there a type in one of those aliases that has none.
func TestWhatAliasesStandForHasNames(t *testing.T) {
	for _, dir := range publicPackages {
		named := map[string]map[string]bool{} // by the directory of a package that is internal, its types that have an alias
		for _, file := range parsed(t, dir) {
			for _, s := range typeSpecs(file) {
				if internal, typ := internalType(file, s.Type); s.Assign.IsValid() && internal != "" {
					if named[internal] == nil {
						named[internal] = map[string]bool{}
					}
					named[internal][typ] = true
				}
			}
		}
		for internal, named := range named {
			made := map[string][]ast.Node{} // of each type what it is made of
			for _, file := range parsed(t, internal) {
				for _, s := range typeSpecs(file) {
					made[s.Name.Name] = append(made[s.Name.Name], s.Type)
				}
				for _, decl := range file.Decls {
					if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil && d.Name.IsExported() {
						made[receiver(d)] = append(made[receiver(d)], d.Type)
					}
				}
			}
			for typ := range named {
				for _, node := range made[typ] {
					visit(node, func(n ast.Node) {
						if x, ok := n.(*ast.Ident); ok && x.IsExported() && made[x.Name] != nil && !named[x.Name] {
							t.Errorf("%s: %s is made of %s of %s, which has no name there", dir, typ, x.Name, internal)
						}
					})
				}
			}
		}
	}
}

var publicPackages = []string{"watcher", "resources", "listen", "transport", "client"}

// parsed are the files of a package, but for tests, by their names.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// internalType tells which type of which internal package n is, if it is one.
func internalType(file *ast.File, n ast.Node) (dir, name string) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		dir, ours := strings.CutPrefix(imported, module+"/")
		if x, ok := s.X.(*ast.Ident); ok && ours && strings.HasPrefix(dir, "internal/") && path.Base(dir) == x.Name {
			return dir, s.Sel.Name
		}
	}
	return "", ""
}

// visit goes through all of a type that others see.
func visit(node ast.Node, each func(ast.Node)) {
	ast.Inspect(node, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					visit(f.Type, each)
				}
			}
			return false
		}
		each(n)
		return true
	})
}

// typeSpecs are the types that a file declares.
func typeSpecs(file *ast.File) (all []*ast.TypeSpec) {
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// public are the types of what a file exports, but for aliases.
func public(file *ast.File) (all []ast.Node) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
				all = append(all, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && !s.Assign.IsValid() && s.Name.Name != "Catalogue" {
						all = append(all, s.Type)
					}
				case *ast.ValueSpec:
					if s.Type != nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
						all = append(all, s.Type)
					}
				}
			}
		}
	}
	return all
}

// receiver is the name of the type that has a method.
func receiver(d *ast.FuncDecl) (name string) {
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if x, ok := n.(*ast.Ident); ok && name == "" {
			name = x.Name
		}
		return true
	})
	return name
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	for dir := range allowed {
		if !strings.Contains(text, "`"+dir+"/`") && !strings.Contains(text, "`"+dir+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", dir)
		}
	}
}

// TestArchitectureGivesAReasonForEveryDependency compares the table of dependencies with go.mod's direct requirements
// and tools.
func TestArchitectureGivesAReasonForEveryDependency(t *testing.T) {
	_, table, found := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## Dependencies\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no section on dependencies")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\S").FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}
	var required []string
	for _, line := range strings.Split(read(t, "go.mod"), "\n") {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			required = append(required, fields[0])
		}
		if len(fields) == 1 && strings.Contains(line, "/cmd/") { // of the block of tools
			required = append(required, fields[0])
		}
	}
	slices.Sort(named)
	slices.Sort(required)
	if !slices.Equal(named, required) {
		t.Errorf("ARCHITECTURE.md explains\n%s\ngo.mod has\n%s", strings.Join(named, "\n"), strings.Join(required, "\n"))
	}
}

// TestRequiresNoLibraryForMCP: the clients of internal/interop and the servers of examples and of bench are in modules of their own, so that
// whoever uses a package of this one gets no other implementation of the protocol with it.
func TestRequiresNoLibraryForMCP(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text := read(t, name)
		for _, library := range []string{"github.com/modelcontextprotocol/", "github.com/mark3labs/"} {
			if strings.Contains(text, library) {
				t.Errorf("%s names %s", name, library)
			}
		}
	}
}

// TestDocumentsLinkToWhatIsThere follows the relative links, with the headings that they name, and the `paths/in/code` of the
// documents. A link begins in the directory of its document, a path in code in that of the module.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	elsewhere := regexp.MustCompile(`^[\w-]*\.[\w.-]+/`)                 // a module's path, or a host's file
	file := regexp.MustCompile("`((?:[\\w.-]+/)+(?:[\\w.-]+\\.\\w+)?)`") // but no method, such as resources/list
	for _, document := range documents {
		text := read(t, document)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := path.Join(path.Dir(filepath.ToSlash(document)), m[1])
			if m[1] == "" {
				target = document
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", document, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(read(t, target)), m[2]) {
				t.Errorf("%s links to #%s, which is no heading of %s", document, m[2], target)
			}
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if elsewhere.MatchString(m[1]) && !strings.HasPrefix(m[1], ".ci/") {
				continue
			}
			if _, err := os.Stat(path.Clean(m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", document, m[1])
			}
		}
	}
}

// anchors are the names under which the headings of a document can be linked to.
func anchors(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
