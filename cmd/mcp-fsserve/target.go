package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// target is the server that a command line names: directories, which this program serves, a command or a URL.
type target struct {
	cfg     *config     // of the directories; nil for any other server
	command []string    // what stands after --
	url     string      // with the scheme http or https
	header  http.Header // for the URL
	beside  []string    // what stands before -- or behind the URL, and URIs among directories
	said    atomic.Bool // the command has said something on standard error
}

// target reads the arguments of cmd: DIR... URI..., or URL ARG..., or ARG... -- COMMAND ARG....
func (p *program) target(cmd *cobra.Command, args []string, bearer *bearer) (*target, error) {
	t, err := p.parseTarget(cmd, args)
	if err != nil {
		return nil, err
	}
	if t.cfg == nil {
		if err := t.foreign(cmd.Flags()); err != nil {
			return nil, err
		}
	}
	if t.url != "" {
		t.header, err = bearer.header(t.url, p.logger())
		return t, err
	}
	return t, bearer.unused(cmd.Flags())
}

func (p *program) parseTarget(cmd *cobra.Command, args []string) (*target, error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash >= 0:
		t := &target{beside: args[:dash], command: args[dash:]}
		return t, t.checkCommand(cmd.CommandPath())
	case len(args) == 0:
		if err := p.swallowed(cmd); err != nil {
			return nil, err
		}
		return nil, usageError("name one, as in: "+cmd.CommandPath()+" ~/notes", "no directory, command or URL given")
	case isURL(args[0]):
		t := &target{url: args[0], beside: args[1:]}
		return t, t.checkURL()
	case startable(args[0]):
		return nil, usageError("a command is written after --, as in: "+cmd.CommandPath()+" -- "+quoteArgs(args), "not a directory: %s", args[0])
	}
	dirs, uris := splitURIs(args)
	if len(dirs) == 0 {
		return nil, usageError("name the server too: a directory or a URL before it, or a command after --", "no server given for: %s", withoutUser(uris[0]))
	}
	cfg, err := p.config(cmd, dirs, nil)
	if err != nil {
		return nil, err
	}
	return &target{cfg: &cfg, beside: uris}, cfg.check()
}

// splitURIs tells directories from URIs, which those of directories have :// in.
func splitURIs(args []string) (dirs, uris []string) {
	for _, arg := range args {
		if scheme, _, found := strings.Cut(arg, "://"); found && isScheme(scheme) {
			uris = append(uris, arg)
		} else {
			dirs = append(dirs, arg)
		}
	}
	return dirs, uris
}

// isScheme reports whether a text can be that of a URI (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

// wire is the target as it is dialled.
func (t *target) wire(p *program) (wire.Target, error) {
	to := wire.Target{Command: t.command, Stderr: heedful{p.stderr, &t.said}, URL: t.url, Header: t.header}
	if t.cfg != nil {
		self, err := os.Executable()
		if err != nil {
			return to, fmt.Errorf("own executable unknown: %w", err)
		}
		to.Command = append([]string{self}, p.server(*t.cfg)...)
	}
	return to, nil
}

func isURL(arg string) bool {
	scheme, _, found := strings.Cut(strings.ToLower(arg), "://")
	return found && (scheme == "http" || scheme == "https")
}

func (t *target) checkURL() error {
	u, err := url.Parse(t.url)
	switch {
	case (err != nil || u.Host == "") && strings.Contains(t.url, "@"):
		return usageError("as in http://127.0.0.1:8080/mcp", "not a URL, and not repeated here since it may hold a password")
	case err != nil || u.Host == "":
		return usageError("as in http://127.0.0.1:8080/mcp", "not a URL: %s", t.url)
	case u.User != nil:
		return usageError("a token is given in a file: --token-file FILE", "a URL with a user or password in it cannot be used: %s", withoutUser(t.url))
	}
	return nil
}

// withoutUser is an argument as it may be repeated: a token is a user too, in some URLs.
func withoutUser(arg string) string {
	scheme, rest, found := strings.Cut(arg, "://")
	if !found || !strings.Contains(rest, "@") {
		return arg
	}
	u, err := url.Parse(arg)
	if err != nil {
		return scheme + "://…"
	}
	if u.User == nil {
		return arg
	}
	u.User = nil
	return u.String()
}

func (t *target) checkCommand(name string) error {
	if len(t.command) == 0 || t.command[0] == "" {
		return usageError("as in: "+name+" -- npx some-server", "no command after --")
	}
	_, err := exec.LookPath(t.command[0])
	if err == nil {
		return nil
	}
	fi, missing := os.Stat(t.command[0])
	switch {
	case missing == nil && fi.IsDir():
		return withHint("a directory is served without the --: "+name+" "+quoteArg(t.command[0]), "no such command: %s", t.command[0])
	case missing == nil && errors.Is(err, fs.ErrPermission):
		return withHint("make it executable, or name what runs it before it", "not executable: %s", t.command[0])
	}
	return withHint("check the spelling", "no such command: %s", t.command[0])
}

// startable reports whether an argument that should be a directory is a program.
func startable(arg string) bool {
	if fi, err := os.Stat(arg); err == nil {
		return fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0
	}
	_, err := exec.LookPath(arg)
	return err == nil && isWord(arg)
}

// foreign finds a flag that says how directories are served, which a server that others run does not hear of.
func (t *target) foreign(given *pflag.FlagSet) error {
	serving := []string{groupChoice, groupAnswers, groupChanges}
	var err error
	given.Visit(func(f *pflag.Flag) {
		if group := f.Annotations[groupKey]; err == nil && len(group) > 0 && slices.Contains(serving, group[0]) {
			err = usageError("leave it out, or give it to the server", "--%s is for directories", f.Name)
		}
	})
	return err
}

func quoteArgs(args []string) string {
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, quoteArg(arg))
	}
	return strings.Join(quoted, " ")
}

// completeTarget offers directories, and files in the arguments of a command.
func completeTarget(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(args) { // what parses a line to complete it puts a -- at its end
		return nil, cobra.ShellCompDirectiveDefault
	}
	return completeDirectories(cmd, args, typed)
}
