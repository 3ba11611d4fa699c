package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *program) completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(p.stdout, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(p.stdout) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(p.stdout, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(p.stdout) },
	}
	names := []cobra.Completion{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long: `Print a script that lets a shell complete commands, flags and directories. Load
it in the shell's startup file:

  source <(mcp-fsserve completion bash)   # ~/.bashrc; needs bash-completion
  source <(mcp-fsserve completion zsh)    # ~/.zshrc, after compinit
  mcp-fsserve completion fish | source    # ~/.config/fish/config.fish
  mcp-fsserve completion powershell | Out-String | Invoke-Expression  # $PROFILE`,
		Example:           "  mcp-fsserve completion bash",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || shells[args[0]] == nil {
				return usageError("name one shell, as in: mcp-fsserve completion bash", "completion is for bash, zsh, fish or powershell, not %q", strings.Join(args, " "))
			}
			return shells[args[0]](cmd.Root())
		},
	}
}

// completeDirectories offers the directories that an argument can go on to, also after NAME= and ~/. Hidden ones are
// offered once the dot is typed. The shells' own completion of directories would lose the commands beside them.
func completeDirectories(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	path, before := typed, ""
	if name, dir, named := strings.Cut(typed, "="); named && !hasSeparator(name) {
		path, before = dir, name+"="
	}
	if path == "~" {
		return []cobra.Completion{before + "~/"}, directive
	}
	at := strings.LastIndexFunc(path, func(r rune) bool { return hasSeparator(string(r)) }) + 1
	before, parent, start := before+path[:at], path[:at], path[at:]
	dir, err := expandHome(parent)
	if err != nil {
		return nil, directive
	}
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, directive
	}
	var found []cobra.Completion
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, start) || name[0] == '.' && start == "" || strings.ContainsAny(name, "\t\n") {
			continue // a tab begins the description of a completion, a newline the next one
		}
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.IsDir() {
			found = append(found, before+name+"/")
		}
	}
	return found, directive
}

// completing reports whether it is a shell that asks. No other invocation has a use for the values of flags.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// withFiles are the flags that have files for values.
var withFiles = []string{"why", "token-file", "tls-cert", "tls-key", "touch-root"}

// completeFlags says which values flags can have; the rest of them have no files for values.
func completeFlags(cmd *cobra.Command) {
	words := map[string][]cobra.Completion{"log-level": logLevelNames, "log-format": logFormatNames}
	complete := func(f *pflag.Flag) {
		if !slices.Contains(withFiles, f.Name) {
			// fails only for a flag that has been registered before: one that all commands inherit
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words[f.Name], cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.LocalFlags().VisitAll(complete)
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}
