package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand returns the whole tree, the root first.
func everyCommand(stdout io.Writer) []*cobra.Command {
	p := &program{stdin: strings.NewReader(""), stdout: &standardOutput{w: stdout}, stderr: io.Discard, level: "warn", format: "text", settings: defaults()}
	root := p.command()
	root.SetOut(stdout)
	root.InitDefaultVersionFlag()
	root.InitDefaultHelpCmd()
	all := append([]*cobra.Command{root}, root.Commands()...)
	for _, cmd := range all {
		cmd.InitDefaultHelpFlag()
	}
	return all
}

func TestHelpFitsATerminal(t *testing.T) {
	var out bytes.Buffer
	for _, cmd := range everyCommand(&out) {
		out.Reset()
		must(t, cmd.Help())
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s --help has a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}

// TestFlagsSayWhatTheyDoWithoutMarkup: shells show the usage of a flag as it is, where the library's mark for the name of
// the value would show too. Its type names it.
func TestFlagsSayWhatTheyDoWithoutMarkup(t *testing.T) {
	for _, cmd := range everyCommand(io.Discard) {
		check := func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: %s", cmd.CommandPath(), f.Name, f.Usage)
			}
			if kind := f.Value.Type(); strings.ToUpper(kind) != kind && !strings.Contains(kind, "|") && kind != "bool" {
				t.Errorf("%s --%s takes a %s", cmd.CommandPath(), f.Name, kind)
			}
		}
		cmd.LocalFlags().VisitAll(check)
	}
}
