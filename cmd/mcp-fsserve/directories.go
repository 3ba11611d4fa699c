package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	if err := unknownCommand(command, args, commands); err != nil {
		return nil, err
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

// unknownCommand takes a word before directories for a command that does not exist: a server that waits for a directory of
// that name would hide the mistake. One that is to appear later is written as a path.
func unknownCommand(command string, args, commands []string) error {
	word := args[0]
	if command != programName || len(args) == 1 || !isWord(word) || exists(word) {
		return nil
	}
	hint := "mcp-fsserve --help shows the commands; a directory that will appear is written ./" + word
	meant := meantBy(word, commands)
	switch {
	case meant == "" && !slices.ContainsFunc(args[1:], exists):
		return nil // perhaps all are directories, of which none exists
	case meant == versionFlag:
		hint = "did you mean: " + meant
	case meant != "":
		for _, arg := range args[1:] {
			meant += " " + quoteArg(arg)
		}
		hint = "did you mean: " + meant + " (a directory of that name is written ./" + word + ")"
	}
	return usageError(hint, "no such command or directory: %s", word)
}

const (
	programName = "mcp-fsserve" // the command that needs no name
	versionFlag = programName + " --version"
)

// meantBy is the command that a word in its place may mean, "" if none is near. commands are those with names like it.
func meantBy(word string, commands []string) string {
	switch {
	case slices.Contains([]string{"serve", "server", "run", "start", "stdio"}, word):
		return programName
	case word == "version":
		return versionFlag
	case len(commands) > 0:
		return programName + " " + commands[0]
	}
	return ""
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
