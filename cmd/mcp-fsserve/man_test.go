package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manPages is where the pages are, one for each command.
const manPages = "../../docs"

// TestManPagesAreUpToDate writes the pages from the commands and compares them with those in docs; with -update it puts
// them there.
func TestManPagesAreUpToDate(t *testing.T) {
	pages := writeManPages()
	present, err := filepath.Glob(manPages + "/*.1")
	must(t, err)
	for _, file := range present {
		if name := filepath.Base(file); pages[name] == "" {
			t.Errorf("docs/%s is of no command", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		file := filepath.Join(manPages, name)
		if *update {
			must(t, os.MkdirAll(manPages, 0o777))
			must(t, os.WriteFile(file, []byte(pages[name]), 0o666))
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != pages[name] {
			t.Errorf("docs/%s is not what the commands say (%v): go test ./cmd/mcp-fsserve -run Man -update", name, err)
		}
	}
}

func writeManPages() map[string]string {
	pages := map[string]string{}
	for _, cmd := range everyCommand(io.Discard) {
		if cmd.IsAvailableCommand() {
			pages[pageName(cmd)+".1"] = manPage(cmd)
		}
	}
	return pages
}

// TestManPageShowsWhatTheHelpSays: every word of the help is in the page.
func TestManPageShowsWhatTheHelpSays(t *testing.T) {
	markup := regexp.MustCompile(`(?m)^\.(RS 2|[A-Za-z]{2}) ?|\\f[BIR]|\\&`)
	plain := func(page string) string {
		page = strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(markup.ReplaceAllString(page, ""))
		return strings.Join(strings.Fields(page), " ")
	}
	for _, cmd := range everyCommand(io.Discard) {
		if !cmd.IsAvailableCommand() {
			continue
		}
		page := plain(manPage(cmd))
		wants := []string{cmd.Short, cmd.Long, cmd.Example, cmd.Use}
		for _, sub := range cmd.Commands() {
			wants = append(wants, sub.Short)
		}
		for _, set := range flagGroups(cmd) {
			wants = append(wants, set.Name(), strings.ReplaceAll(set.FlagUsages(), "      --", "--"))
		}
		for _, want := range wants {
			if want = strings.Join(strings.Fields(want), " "); !strings.Contains(page, want) {
				t.Errorf("%s.1 does not say %s", pageName(cmd), want)
			}
		}
	}
}
