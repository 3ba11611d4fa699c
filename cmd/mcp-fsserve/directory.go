package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// directory turns the arguments of a command into the one absolute directory they name. commands are those that the
// first argument may have meant instead; command is for the hints.
func directory(command string, args, commands []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", usageError("name one, as in: "+command+" ~/notes", "no directory given")
	case len(args) == 1 && args[0] == "":
		return "", usageError("a variable that the host or the shell left empty, perhaps", "the directory given is an empty text")
	case len(args) > 1 && len(commands) > 0:
		return "", usageError(fmt.Sprintf("did you mean: mcp-fsserve %s", commands[0]), "unknown command: %s", args[0])
	case len(args) > 1:
		return "", usageError("run it once for each; a path with spaces needs quotes", "one directory is served at a time, %d were given", len(args))
	}
	dir, err := expandHome(args[0])
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("current directory: %w", err)
	}
	if err := check(abs); err != nil {
		return "", explain(command, dir, err, commands)
	}
	return abs, nil
}

// expandHome does what a shell does with ~/: hosts start servers without one.
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

// check reports why dir cannot be served, nil when it can.
func check(dir string) error {
	root, err := resources.Open(dir, nil)
	if err != nil {
		return err
	}
	return root.Close()
}

// explain says in the user's terms why command cannot serve dir.
func explain(command, dir string, err error, commands []string) error {
	switch {
	case errors.Is(err, resources.ErrMissing):
		return withHint(whyMissing(dir, commands), "no such directory: %s", dir)
	case errors.Is(err, resources.ErrNotDirectory):
		if fi, err := os.Stat(dir); err != nil || !fi.Mode().IsRegular() {
			return withHint("", "not a directory: %s", dir)
		}
		beside := filepath.Dir(filepath.Clean(dir))
		return withHint("name the directory it is in: "+command+" "+quoteArg(beside), "not a directory: %s", dir)
	case errors.Is(err, resources.ErrUnreadable):
		return withHint("the user who runs mcp-fsserve needs read and search permission on it", "directory cannot be read: %s", dir)
	}
	return fmt.Errorf("directory cannot be served: %w", err)
}

// whyMissing guesses what a name that does not exist was meant to be.
func whyMissing(dir string, commands []string) string {
	switch {
	case len(commands) > 0 && !strings.ContainsRune(dir, filepath.Separator):
		return fmt.Sprintf("did you mean: mcp-fsserve %s DIR", commands[0])
	case strings.Contains(dir, "://"):
		return "give the path of the directory, not its URI"
	case strings.HasPrefix(dir, "~"):
		return "of what a shell does with ~ only ~/ is understood"
	case strings.ContainsRune(dir, '$'):
		return "a variable that the host or the shell left as it is, perhaps"
	case !filepath.IsAbs(dir):
		return "a relative path starts at the current directory, which a host may set elsewhere"
	}
	return "check the spelling"
}

// quoteArg writes an argument so that a shell reads it back.
func quoteArg(s string) string {
	if strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
