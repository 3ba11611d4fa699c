package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manDate is the month of the last change of the form of the pages: that of today would make them differ from month to month.
const manDate = "Nov 2026"

// manPage writes the page of a command in the man macros, with the parts and the groups of flags that its help has.
func manPage(cmd *cobra.Command) string {
	var page strings.Builder
	fmt.Fprintf(&page, ".nr HY 0\n.TH %q 1 %q %q\n.ad l\n", strings.ToUpper(pageName(cmd)), manDate, "mcp-fsserve")
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&page, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&page, ".br\n.B %s COMMAND ...\n", roff(cmd.CommandPath()))
	}
	fmt.Fprintf(&page, ".SH DESCRIPTION\n%s", paragraphs(cmd.Long))
	if cmd.HasAvailableSubCommands() {
		page.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			fmt.Fprintf(&page, ".TP\n.B %s\n%s\n", roff(sub.Use), roff(sub.Short))
		}
	}
	page.WriteString(".SH OPTIONS\n")
	for _, set := range flagGroups(cmd) {
		fmt.Fprintf(&page, ".SS %s\n", roff(set.Name()))
		set.VisitAll(func(f *pflag.Flag) { page.WriteString(option(f)) })
	}
	fmt.Fprintf(&page, ".SH EXAMPLES\n%s", verbatim(cmd.Example))
	fmt.Fprintf(&page, ".SH SEE ALSO\n%s\n", strings.Join(seeAlso(cmd), ",\n"))
	return page.String()
}

// pageName is what the page of a command is called.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// option is the entry of a flag. One that is on or off has no value.
func option(f *pflag.Flag) string {
	name := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
	}
	usage := f.Usage
	if kind := f.Value.Type(); kind != "bool" {
		name += ` \fI` + roff(kind) + `\fR`
		if f.DefValue != "" {
			usage += " (default " + f.DefValue + ")"
		}
	}
	return ".TP\n" + name + "\n" + roff(usage) + "\n"
}

// seeAlso are the pages of the commands above and below.
func seeAlso(cmd *cobra.Command) (pages []string) {
	if cmd.HasParent() {
		pages = append(pages, ".BR "+roff(pageName(cmd.Parent()))+" (1)")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, ".BR "+roff(pageName(sub))+" (1)")
		}
	}
	return pages
}

// paragraphs sets text whose indented lines stand as they are.
func paragraphs(text string) string {
	var page strings.Builder
	for i, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			page.WriteString(".PP\n")
		}
		if strings.HasPrefix(part, "  ") {
			page.WriteString(verbatim(part))
		} else {
			page.WriteString(roff(part) + "\n")
		}
	}
	return page.String()
}

// verbatim sets lines that are indented by two.
func verbatim(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString(roff(strings.TrimPrefix(line, "  ")))
	}
	return ".RS 2\n.EX\n" + strings.TrimSuffix(lines.String(), "\n") + "\n.EE\n.RE\n"
}

// roff takes the meaning from characters that have one.
func roff(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			out.WriteString(`\&`)
		}
		out.WriteString(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line))
	}
	return out.String()
}
