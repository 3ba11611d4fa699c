package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestWireLegendNamesAllThatIsUsed: who reads a transcript finds each kind of section, step and placeholder explained.
func TestWireLegendNamesAllThatIsUsed(t *testing.T) {
	legend, err := os.ReadFile("../../testdata/wire/README.md")
	must(t, err)
	explained := func(what string) bool { return strings.Contains(string(legend), "`"+what) }
	files, err := filepath.Glob("../../testdata/wire/*.txtar")
	must(t, err)
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		must(t, err)
		for _, file := range archive.Files {
			if section := file.Name; !strings.HasPrefix(section, "tree/") && !explained("-- "+section+" --") {
				t.Errorf("%s: section %s", name, section)
			}
			if file.Name != "client" {
				continue
			}
			for line := range strings.Lines(string(file.Data)) {
				step, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				if step != "" && !strings.ContainsAny(step[:1], "{[#") && !explained(step) {
					t.Errorf("%s: step %s", name, step)
				}
			}
		}
		for _, placeholder := range []string{"VERSION", "TIME", "$META"} {
			if strings.Contains(string(txtar.Format(archive)), placeholder) && !explained(placeholder) {
				t.Errorf("%s: %s", name, placeholder)
			}
		}
	}
}
