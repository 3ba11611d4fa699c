package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// place is a directory to serve as the user wrote it.
type place struct {
	arg     string // the whole argument
	written string // the directory in it, with ~/ expanded
	spec    resources.Spec
}

// places turns the arguments of a command into the directories they name. commands are those that the first argument may
// have meant instead; command is for the hints.
func places(command string, args, commands []string) ([]place, error) {
	if len(args) == 0 {
		return nil, usageError("name one, as in: "+command+" ~/notes", "no directory given")
	}
	if len(args) > 1 && isWord(args[0]) && !exists(args[0]) {
		if err := unknownCommand(args, commands); err != nil {
			return nil, err
		}
	}
	var all []place
	for _, arg := range args {
		p, err := parsePlace(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// unknownCommand takes a word before directories for a command, if it is near to one. A missing directory is none.
func unknownCommand(args, commands []string) error {
	meant := "mcp-fsserve"
	switch {
	case len(commands) > 0:
		meant += " " + commands[0]
	case args[0] != "serve":
		return nil
	}
	for _, arg := range args[1:] {
		meant += " " + quoteArg(arg)
	}
	return usageError(fmt.Sprintf("did you mean: %s (a directory of that name is written ./%s)", meant, args[0]), "unknown command: %s", args[0])
}

// parsePlace reads DIR or NAME=DIR. What stands before the first = is a name unless it is part of a path.
func parsePlace(arg string) (p place, err error) {
	name, dir, named := strings.Cut(arg, "=")
	if !named || hasSeparator(name) {
		name, dir, named = "", arg, false
	}
	switch {
	case arg == "":
		return p, usageError(leftEmpty, "the directory given is an empty text")
	case named && name == "":
		return p, usageError("write NAME=DIR, or "+quoteArg("./"+arg)+" for a directory of that name", "no name before the = in: %s", arg)
	case named && dir == "":
		return p, usageError("write NAME=DIR; it is "+leftEmpty, "no directory after the = in: %s", arg)
	}
	p = place{arg: arg}
	if p.written, err = expandHome(dir); err != nil {
		return p, err
	}
	abs, err := filepath.Abs(p.written)
	if err != nil {
		return p, fmt.Errorf("current directory: %w", err)
	}
	p.spec = resources.Spec{Name: name, Dir: abs}
	return p, nil
}

// passed are the directories for another process, whatever its current directory is.
func passed(all []place) (args []string) {
	for _, p := range all {
		arg := p.spec.Dir // holds a separator before any =
		if p.spec.Name != "" {
			arg = p.spec.Name + "=" + arg
		}
		args = append(args, arg)
	}
	return args
}

func hasSeparator(s string) bool {
	return strings.Contains(s, "/") || runtime.GOOS == "windows" && strings.Contains(s, `\`)
}

// isWord reports whether an argument could be a command.
func isWord(arg string) bool { return !hasSeparator(arg) && !strings.ContainsAny(arg, "=~.") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// expandHome does what a shell does with ~/: hosts start servers without one, and shells do not after NAME=.
func expandHome(dir string) (string, error) {
	rest, ok := strings.CutPrefix(filepath.ToSlash(dir), "~")
	if !ok || rest != "" && rest[0] != '/' {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", withHint("write the path out", "home directory unknown: %v", err)
	}
	return filepath.Join(home, filepath.FromSlash(rest)), nil
}

// quoteArg writes an argument so that a shell reads it back.
func quoteArg(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
