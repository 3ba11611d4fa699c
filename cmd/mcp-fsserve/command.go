package main

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// program is what all commands of one invocation share.
type program struct {
	stdin  io.Reader
	stdout *standardOutput
	stderr io.Writer // never fails
	args   []string  // the command line, for hints

	level    string // --log-level
	format   string // --log-format
	version  bool   // --version
	settings settings
}

// logger is made on use, so that an error in the flags themselves has a voice too.
func (p *program) logger() *slog.Logger { return newLogger(p.stderr, p.format, p.level) }

// command builds the command tree.
func (p *program) command() *cobra.Command {
	root := p.serveCommand()
	root.SetFlagErrorFunc(p.flagError)
	root.SetHelpCommand(helpCommand())
	root.SetUsageFunc(usage)
	flags := root.PersistentFlags()
	flags.Var(&choice{"--log-level", &p.level, logLevelNames}, "log-level", "least level to log on standard error")
	flags.Var(&choice{"--log-format", &p.format, logFormatNames}, "log-format", "how to log on standard error")
	root.AddCommand(p.listCommand(), p.listenCommand(), p.verifyCommand(), p.completionCommand())
	if completing(p.args) {
		completeFlags(root)
	}
	root.LocalFlags() // from here on in the flags of the root are those of all commands, which the help has first
	root.InitDefaultHelpFlag()
	addVersionFlag(root.Flags(), &p.version)
	return root
}

var (
	logLevelNames  = []string{"debug", "info", "warn", "error"}
	logFormatNames = []string{"text", "json"}
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp-fsserve [flags] [NAME=]DIR...",
		Short: "Serve directories as MCP resources",
		Long: `Serve directories as MCP resources, on standard input and output or with --http
over HTTP, and tell each listener within milliseconds what changed.

Hidden files, credentials, and what the .gitignore and .mcpignore files in the
directories and below exclude are not served. Of several directories each has a
name, NAME or else made of its own, that its files are listed under. A directory
called like a command is written ./list, as is a single word for a directory
that will appear later; one with = in its name is written ./a=b.

` + globHelp + `
Over HTTP, URIs begin with fs:// and the directory's name instead of its path.
Other machines are let in with a token only, or with --insecure. A file of
tokens has a line NAME TOKEN, or TOKEN alone, for each client; the name is for
the log. The variable MCP_FSSERVE_TOKEN holds such lines themselves, not the
name of a file.

The exit status is 0 after a clean end, which the end of input, SIGINT and
SIGTERM are, 1 after a failure, and 2 after wrong usage.`,
		Example: `  mcp-fsserve ~/notes                          # what an MCP host starts
  mcp-fsserve docs=~/work/docs ~/notes         # files under docs/ and notes/
  mcp-fsserve --include '*.{md,txt}' ~/notes   # only text
  mcp-fsserve --exclude /archive/ ~/notes      # all but one directory
  mcp-fsserve --unhide '.github/**' ~/project  # something hidden too
  mcp-fsserve --http 8080 ~/notes              # at http://127.0.0.1:8080/mcp
  mcp-fsserve list ~/notes                     # what it would serve
  mcp-fsserve list --why secret.pem ~/notes    # why something is not served
  mcp-fsserve listen ~/notes                   # what a listener is told
  mcp-fsserve listen https://host/mcp          # the same of any MCP server
  mcp-fsserve verify -- npx some-server        # whether a server listens well`,
		Args: cobra.ArbitraryArgs, // judged by places, which has better words
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.version {
				return printVersion(p.stdout)
			}
			cfg, err := p.config(cmd, args, suggestions(cmd, args))
			if err != nil {
				return err
			}
			if err := cfg.web.check(cmd.Flags()); err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, p.stdin, p.stdout, p.logger())
		},
		ValidArgsFunction: completeDirectories,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	p.addSettings(cmd)
	group(cmd, groupChanges, p.settings.watching)
	group(cmd, groupLimits, p.settings.limiting)
	group(cmd, groupHTTP, p.settings.web.flags)
	return cmd
}

const globHelp = `A GLOB is written as in a .gitignore file and applies inside each directory:
without a slash it matches names at any depth, with one the path below the
directory; a leading slash means the served directory, not the disk; * and ?
stay within a name, ** crosses directories, {a,b} are alternatives. What matches
a directory covers all in it. Quote a GLOB, or the shell may expand it.
`

func (p *program) listCommand() *cobra.Command {
	var form listForm
	cmd := &cobra.Command{
		Use:   "list [flags] [NAME=]DIR...",
		Short: "Print what would be served",

		SuggestFor: []string{"ls", "dir", "tree", "show", "print"},
		Long: `Print every file that would be served, in the order of resources/list: as a tree
with sizes and types or, for scripts, one path a line or one JSON document. A
name that would garble its line, or is not valid UTF-8, is printed as a quoted
string. Files above --max-size are listed by the server too, though reading them
is an error; the tree marks them. Directories that cannot be read are left out,
as they are by the server, and a line on standard error counts them. A list that
is cut short, since files cannot be opened now or it is interrupted, ends with
status 1.

With --why it prints instead whether each PATH is served, and the rule that
decides. PATH is a path on disk, or one below the directory as in the list.`,
		Example: `  mcp-fsserve list ~/notes
  mcp-fsserve list --why ~/notes/secret.pem ~/notes
  mcp-fsserve list --paths . | wc -l
  mcp-fsserve list --json . | jq -r '.resources[] | select(.size > 1e6).name'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := p.config(cmd, args, nil)
			if err != nil {
				return err
			}
			if err := form.check(); err != nil {
				return err
			}
			if len(form.why) > 0 {
				return explainPaths(cmd.Context(), cfg, form.why, p.stdout, p.logger())
			}
			return list(cmd.Context(), cfg, form.printer(cfg.maxSize), p.stdout, p.logger())
		},
		ValidArgsFunction: completeDirectories,
	}
	group(cmd, groupForm, form.flags)
	p.addSettings(cmd)
	return cmd
}

// addSettings gives cmd the flags of all that open directories.
func (p *program) addSettings(cmd *cobra.Command) {
	group(cmd, groupChoice, p.settings.choosing)
	group(cmd, groupAnswers, p.settings.answering)
}

// config is what the arguments and flags of cmd say.
func (p *program) config(cmd *cobra.Command, args, commands []string) (config, error) {
	if len(args) == 0 {
		if err := p.swallowed(cmd); err != nil {
			return config{}, err
		}
	}
	all, err := places(cmd.CommandPath(), args, commands)
	say := newLogger(p.stderr, p.format, "info")
	return config{places: all, settings: p.settings, command: cmd.CommandPath(), commands: commands, say: say}, err
}

// suggestions are the commands that a mistyped word may have meant, the likeliest first: listn is one letter away from both
// list and listen, but few make a mistake at the end.
func suggestions(cmd *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	all := cmd.SuggestionsFor(args[0])
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(endsShared(args[0], b), endsShared(args[0], a)) })
	return all
}

// endsShared is how many letters of two words are the same, counted from both ends.
func endsShared(a, b string) (n int) {
	least := min(len(a), len(b))
	for n < least && a[n] == b[n] {
		n++
	}
	for k := 1; n < least && a[len(a)-k] == b[len(b)-k]; k++ {
		n++
	}
	return n
}

// flagError says in the user's terms what is wrong with a flag. The library wraps what a flag says of its value in the
// flag and the value, and lets strconv name the value again.
func (p *program) flagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		return p.unknownFlag(cmd, unknown)
	}
	if wrong := (*valueError)(nil); errors.As(err, &wrong) {
		return usageError(wrong.hint, "%w", wrong)
	}
	text := err.Error()
	if again := (*strconv.NumError)(nil); errors.As(err, &again) {
		text = strings.TrimSuffix(text, ": "+again.Error())
	}
	return usageError(cmd.CommandPath()+" --help shows the flags", "%s", text)
}
