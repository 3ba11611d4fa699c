package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manPages is where the pages are, one for each command.
const manPages = "../../docs"

// TestManPagesAreUpToDate writes the pages from the commands and compares them with those in docs; with -update it puts
// them there.
func TestManPagesAreUpToDate(t *testing.T) {
	pages := writeManPages(t)
	present, err := filepath.Glob(manPages + "/*.1")
	must(t, err)
	for _, file := range present {
		if name := filepath.Base(file); pages[name] == nil {
			t.Errorf("docs/%s is of no command", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		file := filepath.Join(manPages, name)
		if *update {
			must(t, os.MkdirAll(manPages, 0o777))
			must(t, os.WriteFile(file, pages[name], 0o666))
		}
		if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, pages[name]) {
			t.Errorf("docs/%s is not what the commands say (%v): go test ./cmd/mcp-fsserve -run Man -update", name, err)
		}
	}
}

func writeManPages(t *testing.T) map[string][]byte {
	p := &program{stdin: strings.NewReader(""), stdout: &standardOutput{w: io.Discard}, stderr: io.Discard, level: "warn", format: "text", settings: defaults()}
	root := p.command()
	root.DisableAutoGenTag = true
	root.InitDefaultVersionFlag()
	forMan(root)
	dir := t.TempDir()
	// The month of the last change of the form of the pages: that of today would make them differ from month to month.
	date := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	must(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "mcp-fsserve", Manual: "mcp-fsserve"}, dir))
	pages := map[string][]byte{}
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
		pages[f.Name()] = text
	}
	return pages
}

// forMan makes Markdown, which the pages are made of, of texts that are written for terminals.
func forMan(cmd *cobra.Command) {
	cmd.Long = markdown(cmd.Long)
	flags := func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		f.Usage = escapeMarkdown(usage)
		if f.DefValue == "" {
			f.DefValue = value
		}
	}
	cmd.InitDefaultHelpFlag()
	cmd.LocalNonPersistentFlags().VisitAll(flags)
	cmd.PersistentFlags().VisitAll(flags)
	for _, sub := range cmd.Commands() {
		forMan(sub)
	}
}

// markdown puts indented lines into fences and takes the meaning from characters of the others.
func markdown(text string) string {
	var out strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, "  "); indented != fenced {
			out.WriteString("```\n")
			fenced = indented
		}
		if !fenced {
			line = escapeMarkdown(line)
		}
		out.WriteString(line)
	}
	if fenced {
		out.WriteString("\n```\n")
	}
	return out.String()
}

func escapeMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`").Replace(text)
}

// TestManPageShowsWhatTheHelpSays: nothing of the help is lost on the way through Markdown.
func TestManPageShowsWhatTheHelpSays(t *testing.T) {
	page := string(writeManPages(t)["mcp-fsserve.1"])
	plain := strings.NewReplacer(`\-`, "-", `\&`, "", `\fB`, "", `\fP`, "", `\fI`, "", `\fR`, "", `\e`, `\`, "\n", " ").Replace(page)
	for _, want := range []string{
		"* and ? stay within a name, ** crosses directories, {a,b} are alternatives",
		"mcp-fsserve --include '*.{md,txt}' ~/notes   # only text",
		"--exclude=GLOB", "--max-size=16M", "do not read .gitignore and .mcpignore files",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("mcp-fsserve.1 does not say %s", want)
		}
	}
}
