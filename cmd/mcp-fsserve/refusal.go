package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// explain says in the user's terms why the directories cannot be served.
func (cfg *config) explain(err error) error {
	all, command := cfg.places, cfg.command
	var refused *resources.RootError
	if !errors.As(err, &refused) {
		return fmt.Errorf("directory cannot be served: %w", err)
	}
	p := placeOf(all, refused.Dir)
	switch {
	case errors.Is(err, resources.ErrMissing) && len(all) > 1:
		return noneExists(all)
	case errors.Is(err, resources.ErrMissing):
		return withHint(cmp.Or(cfg.noCommand(p), whyMissing(p)), "no such directory: %s", p.written)
	case errors.Is(err, resources.ErrNotDirectory):
		return withHint(cmp.Or(cfg.expanded(p.written), whereInstead(command, p)), "not a directory: %s", p.written)
	case errors.Is(err, resources.ErrUnreadable) && errors.Is(err, syscall.EMFILE):
		return withHint("raise the limit of open files, see ulimit -n", "directory cannot be read: %s: %v", p.written, syscall.EMFILE)
	case errors.Is(err, resources.ErrUnreadable):
		return withHint("the user who runs mcp-fsserve needs read and search permission on it", "directory cannot be read: %s", p.written)
	}
	return ambiguous(all, p, refused)
}

// placeOf finds the first place whose directory is dir.
func placeOf(all []place, dir string) place {
	for _, p := range all {
		if p.spec.Dir == dir {
			return p
		}
	}
	return all[0]
}

// ambiguous says what is wrong with the names of directories, or with two of them together.
func ambiguous(all []place, p place, refused *resources.RootError) error {
	name := p.spec.Name
	switch {
	case errors.Is(refused, resources.ErrBadName) && exists(p.arg):
		return usageError("a directory with = in its name is written "+quoteArg("./"+p.arg), "%q is no name for a directory", name)
	case errors.Is(refused, resources.ErrBadName):
		return usageError("a name is made of a-z, 0-9, dots and dashes, and begins with a letter or digit, as in "+
			goodName(name)+"="+quoteArg(p.written), "%q is no name for a directory", name)
	case errors.Is(refused, resources.ErrNameTaken):
		return usageError("give each directory a name of its own", "two directories are called %s: %s and %s",
			name, placeOf(all, refused.Other).written, p.written)
	case errors.Is(refused, resources.ErrSameDirectory):
		later := slices.Clone(all)
		slices.Reverse(later)
		return usageError("give it once; a link to a directory is that directory", "the same directory is given twice: %s and %s",
			placeOf(all, refused.Other).arg, placeOf(later, refused.Dir).arg)
	}
	return fmt.Errorf("directory cannot be served: %s: %w", p.written, refused.Err)
}

// goodName is a name near to one that cannot be used.
func goodName(name string) string {
	name = regexp.MustCompile(`[^a-z0-9.-]+`).ReplaceAllString(strings.ToLower(name), "-")
	if name = strings.TrimLeft(name, ".-"); name == "" {
		return "docs"
	}
	return name
}

// noneExists says that all of several directories are missing, and looks for a path that a shell or a configuration has
// split at its spaces.
func noneExists(all []place) error {
	var written []string
	for _, p := range all {
		written = append(written, p.written)
	}
	hint := whyMissing(all[0])
	for i := range written {
		for j := i + 2; j <= min(len(written), i+maxWords); j++ {
			if whole := strings.Join(written[i:j], " "); exists(whole) {
				hint = "a path with spaces needs quotes: " + quoteArg(whole)
			}
		}
	}
	named := strings.Join(written, ", ")
	if len(written) > maxNamed {
		named = fmt.Sprintf("%s and %d more", strings.Join(written[:maxNamed], ", "), len(written)-maxNamed)
	}
	return withHint(hint, "none of the %d directories exists: %s", len(all), named)
}

const (
	maxWords = 16 // of a path with spaces
	maxNamed = 10 // of many directories
)

// whereInstead names the directory of a file.
func whereInstead(command string, p place) string {
	if fi, err := os.Stat(p.spec.Dir); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	beside := filepath.Dir(filepath.Clean(p.written))
	return "name the directory it is in: " + command + " " + quoteArg(beside)
}

// noCommand is the hint on a word that is no directory, if it may be a command.
func (cfg *config) noCommand(p place) string {
	if cfg.command != programName || !isWord(p.arg) {
		return ""
	}
	switch meant := meantBy(p.arg, cfg.commands); meant {
	case "":
		return ""
	case versionFlag:
		return "did you mean: " + meant
	default:
		return "did you mean: " + meant + " DIR"
	}
}

// whyMissing guesses what a directory that does not exist was meant to be.
func whyMissing(p place) string {
	dir := p.written
	switch {
	case p.spec.Name != "" && exists(p.arg):
		return "a directory with = in its name is written " + quoteArg("./"+p.arg)
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
