package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of flags, in the order of the help. What is in none comes last.
const (
	groupForm    = "Form of the list"
	groupFacts   = "What is followed, and how it is told"
	groupTest    = "The test"
	groupServer  = "Servers at a URL"
	groupChoice  = "Choosing what is served"
	groupAnswers = "Answers"
	groupChanges = "Changes"
	groupLimits  = "Limits"
	groupHTTP    = "Serving over HTTP"
	groupOther   = "Other flags"
)

var groups = []string{groupForm, groupFacts, groupTest, groupServer, groupChoice, groupAnswers, groupChanges, groupLimits, groupHTTP, groupOther}

// helpWidth is how many columns a terminal has at least.
const helpWidth = 80

// groupKey is the annotation of a flag that says which group it is in.
const groupKey = "group"

// group adds flags to cmd under a title.
func group(cmd *cobra.Command, title string, add func(*pflag.FlagSet)) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	add(flags)
	marked := map[string][]string{groupKey: {title}} // one for all, as nobody writes to it
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = marked })
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
}

// usage takes the place of cobra's, which puts all flags under one title.
func usage(cmd *cobra.Command) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s COMMAND ...\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&text, "  %-*s %s\n", cmd.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, set := range flagGroups(cmd) {
		fmt.Fprintf(&text, "\n%s:\n%s", set.Name(), set.FlagUsagesWrapped(helpWidth))
	}
	_, err := io.WriteString(cmd.OutOrStderr(), text.String())
	return err
}

// flagGroups are the flags of cmd, those of all commands included, in sets named by the titles of their groups.
func flagGroups(cmd *cobra.Command) (all []*pflag.FlagSet) {
	sets := map[string]*pflag.FlagSet{}
	for _, title := range groups {
		sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		sets[title].SortFlags = false
	}
	sort := func(f *pflag.Flag) {
		title := groupOther
		if marked := f.Annotations[groupKey]; len(marked) > 0 {
			title = marked[0]
		}
		sets[title].AddFlag(f)
	}
	cmd.NonInheritedFlags().VisitAll(sort)
	cmd.InheritedFlags().VisitAll(sort)
	for _, title := range groups {
		if sets[title].HasAvailableFlags() {
			all = append(all, sets[title])
		}
	}
	return all
}
