package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// program is what all commands of one invocation share.
type program struct {
	stdin  io.Reader
	stdout *standardOutput
	stderr io.Writer // never fails

	level  string // --log-level
	format string // --log-format
}

// logger is made on use, so that an error in the flags themselves has a voice too.
func (p *program) logger() *slog.Logger { return newLogger(p.stderr, p.format, p.level) }

// command builds the command tree.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcp-fsserve [flags] DIR",
		Short: "Serve a directory as MCP resources",
		Long: `Serve a directory as MCP resources, on standard input and output, and tell each
listener within milliseconds what changed.

Hidden files, credentials, and what the .gitignore and .mcpignore files in the
directory and below exclude are not served. A directory called like a command is
written ./list. The exit status is 0 after a clean end, which the end of input,
SIGINT and SIGTERM are, 1 after a failure, and 2 after wrong usage.`,
		Example: `  mcp-fsserve ~/notes            # what an MCP host starts
  mcp-fsserve list ~/notes       # what it would serve
  mcp-fsserve listen ~/notes     # what a listener is told, as it happens`,
		Version: version(),
		Args:    cobra.ArbitraryArgs, // judged by directory, which has better words
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := directory(cmd.CommandPath(), args, suggestions(cmd, args))
			if err != nil {
				return err
			}
			greet(p.stdin, dir, p.logger())
			return serve(cmd.Context(), config{dir: dir}, p.stdin, p.stdout, p.logger())
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("mcp-fsserve {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	flags := root.PersistentFlags()
	flags.Var(&choice{"--log-level", &p.level, []string{"debug", "info", "warn", "error"}}, "log-level", "least level to log on standard error")
	flags.Var(&choice{"--log-format", &p.format, []string{"text", "json"}}, "log-format", "how to log on standard error")
	root.AddCommand(p.listCommand(), p.listenCommand())
	return root
}

func (p *program) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [flags] DIR",
		Short: "Print what would be served",
		Long: `Print the path of every file that would be served, one a line, in the order of
resources/list. A name that would garble the line, or is not valid UTF-8, is
printed as a quoted string. Directories that cannot be read are left out, as they
are by the server, and a line on standard error counts them.`,
		Example: `  mcp-fsserve list ~/notes
  mcp-fsserve list . | wc -l`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := directory(cmd.CommandPath(), args, nil)
			if err != nil {
				return err
			}
			return list(cmd.Context(), config{dir: dir}, p.stdout, p.logger())
		},
	}
}

func (p *program) listenCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "listen [flags] DIR",
		Short: "Print what a listener is told, as it happens",
		Long: `Start this program as the server of DIR, listen to everything it serves, and
print one line a fact:

  live N resources    every listen is acknowledged: from here on nothing is missed
  updated URI         a resource changed, appeared again or disappeared
  list + URI          the list has gained a resource, which is listened to
  list - URI          the list has lost a resource

With --json each is an object: {"event":"live","resources":N}, or "updated",
"added" or "removed" with its "uri".

It ends on SIGINT and SIGTERM with status 0.`,
		Example: `  mcp-fsserve listen ~/notes
  mcp-fsserve listen --json ~/notes | jq -r 'select(.event == "updated").uri'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := directory(cmd.CommandPath(), args, nil)
			if err != nil {
				return err
			}
			server := []string{"--log-level=" + p.level, "--log-format=" + p.format, "--", dir}
			return listenTo(cmd.Context(), server, newFacts(p.stdout, asJSON), p.stderr, p.logger())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// suggestions are the commands that a mistyped word may have meant.
func suggestions(cmd *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	return cmd.SuggestionsFor(args[0])
}

// flagError says in the user's terms what is wrong with a flag. The library wraps what a flag says of its value in the
// flag and the value, and lets strconv name the value again.
func flagError(cmd *cobra.Command, err error) error {
	if wrong := (*choiceError)(nil); errors.As(err, &wrong) {
		return usageError("", "%w", wrong)
	}
	text := err.Error()
	if again := (*strconv.NumError)(nil); errors.As(err, &again) {
		text = strings.TrimSuffix(text, ": "+again.Error())
	}
	return usageError(cmd.CommandPath()+" --help shows the flags", "%s", text)
}

// choice is a flag that takes one of a few words.
type choice struct {
	flag  string // with its dashes
	value *string
	words []string
}

// choiceError reports a word that is none of a flag's.
type choiceError struct {
	flag, word string
	words      []string
}

func (e *choiceError) Error() string {
	last := len(e.words) - 1
	return fmt.Sprintf("%s must be %s or %s, not %q", e.flag, strings.Join(e.words[:last], ", "), e.words[last], e.word)
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return &choiceError{c.flag, word, c.words}
	}
	*c.value = word
	return nil
}

// release is set by the linker in release builds.
var release string

// version is the program's version, the toolchain's and the platform.
func version() string {
	return fmt.Sprintf("%s (%s, %s/%s)", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// programVersion is what the linker set, else what the module was fetched or checked out at.
func programVersion() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
