package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownFlag says what a flag that cmd does not have was meant to be, or which commands have it.
func (p *program) unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name, written := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		name = p.oneDash(letters)
		written = "-" + name
	}
	if len(name) == 1 {
		return usageError(cmd.CommandPath()+" --help shows the flags", "unknown flag: %s", written)
	}
	if cmd.Flags().Lookup(name) != nil {
		return usageError("did you mean: --"+name, "unknown flag: %s", written)
	}
	if name == "version" {
		return usageError("did you mean: "+versionFlag, "unknown flag: %s", written)
	}
	if owners := flagOwners(cmd.Root(), name); len(owners) > 0 {
		return p.flagOfOthers(cmd, name, owners)
	}
	if near := nearFlags(cmd.Flags(), name); len(near) > 0 {
		return usageError("did you mean: "+strings.Join(near, " or "), "unknown flag: %s", written)
	}
	return usageError(cmd.CommandPath()+" --help shows the flags", "unknown flag: %s", written)
}

// oneDash is the word in which the library has found letters that are no flags; it has gone past those that are.
func (p *program) oneDash(letters string) string {
	for _, arg := range p.args {
		if word, ok := strings.CutPrefix(arg, "-"); ok && !strings.HasPrefix(word, "-") && strings.HasSuffix(word, letters) {
			letters = word
			break
		}
	}
	name, _, _ := strings.Cut(letters, "=")
	return name
}

// flagOwners are the commands that have a flag of their own called name.
func flagOwners(root *cobra.Command, name string) (owners []*cobra.Command) {
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Flags().Lookup(name) != nil {
			owners = append(owners, cmd)
		}
	}
	return owners
}

// flagOfOthers says which commands a flag is for. What people mean who have named no command, the arguments tell.
func (p *program) flagOfOthers(cmd *cobra.Command, name string, owners []*cobra.Command) error {
	var jobs []string
	for _, owner := range owners {
		jobs = append(jobs, jobOf(owner))
	}
	first := owners[0]
	hint := "leave it out; " + first.CommandPath() + " --help explains it"
	if cmd == cmd.Root() {
		words := []string{first.CommandPath()}
		for _, arg := range p.args {
			if arg != first.Name() {
				words = append(words, quoteArg(arg))
			}
		}
		hint = "did you mean: " + strings.Join(words, " ")
	}
	last := len(jobs) - 1
	all := strings.TrimPrefix(strings.Join(jobs[:last], ", ")+" and "+jobs[last], " and ")
	return usageError(hint, "--%s is for %s, not for %s", name, all, jobOf(cmd))
}

// jobOf is what a command is called; the one without a name serves.
func jobOf(cmd *cobra.Command) string {
	if cmd == cmd.Root() {
		return "serving"
	}
	return cmd.Name()
}

// nearFlags are the flags whose names a mistyped one may have meant.
func nearFlags(flags *pflag.FlagSet, name string) (near []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		mistyped := distance(f.Name, name) <= min(2, len(name)/2)
		shortened := strings.HasPrefix(f.Name, name) || strings.HasSuffix(f.Name, "-"+name)
		if mistyped || shortened {
			near = append(near, "--"+f.Name)
		}
	})
	slices.Sort(near)
	return near
}

// distance is how many letters must be changed, added or left out to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // from the part of a so far to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// swallowed says that a flag has taken the last argument, where the directory stands, for its value.
func (p *program) swallowed(cmd *cobra.Command) error {
	last := len(p.args) - 1
	if last < 1 || !strings.HasPrefix(p.args[last-1], "--") {
		return nil
	}
	flag, value := p.args[last-1], p.args[last]
	f := cmd.Flags().Lookup(flag[len("--"):])
	if f == nil || f.NoOptDefVal != "" || !exists(value) && f.Value.Type() != "GLOB" && f.Value.Type() != "PATH" {
		return nil
	}
	return usageError("name the directory after it, as in: "+cmd.CommandPath()+" "+flag+" "+quoteArg(value)+" ~/notes",
		"no directory given: %s has taken %s", flag, quoteArg(value))
}
