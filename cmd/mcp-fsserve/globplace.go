package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// warnGlobs says which globs begin with the way to a served directory instead of inside it, so that they match nothing.
func (cfg *config) warnGlobs(roots []*resources.Root, log *slog.Logger) {
	for _, kind := range cfg.kinds() {
		for _, g := range kind.globs {
			if rest, ok := cfg.outside(roots, g.String()); ok {
				log.Warn(kind.flag+" "+quoteArg(g.String())+" matches nothing: globs begin at the served directory",
					hintKey, cfg.inside(kind.flag, rest))
			}
		}
	}
}

// outside cuts the way to a directory off a glob. What is there below a directory is taken for what was meant, and a glob
// that is not anchored may match at any depth.
func (cfg *config) outside(roots []*resources.Root, glob string) (rest string, ok bool) {
	if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") {
		return "", false
	}
	for i, p := range cfg.places {
		for _, way := range cfg.ways(p, roots[i]) {
			rest, ok := strings.CutPrefix(strings.Trim(glob, "/")+"/", way+"/")
			if ok && !cfg.holds(way) {
				return slashAs(strings.TrimSuffix(rest, "/"), glob), true
			}
		}
	}
	return "", false
}

// ways are what people may write before a path below a directory: the way to it from the current directory, the name that
// the list shows before the files of several directories, and its own name.
func (cfg *config) ways(p place, root *resources.Root) (all []string) {
	here, err := os.Getwd()
	if rel, ok := beneath(here, p.spec.Dir); err == nil && ok && rel != "" {
		all = append(all, rel)
	}
	if len(cfg.places) > 1 {
		all = append(all, root.Name())
	}
	return append(all, filepath.Base(p.spec.Dir))
}

// holds reports whether something is at rel below any directory.
func (cfg *config) holds(rel string) bool {
	for _, p := range cfg.places {
		if _, err := os.Lstat(filepath.Join(p.spec.Dir, filepath.FromSlash(rel))); err == nil {
			return true
		}
	}
	return false
}

// inside is the hint on what to write for a glob that should match rest below one of the directories.
func (cfg *config) inside(flag, rest string) string {
	switch {
	case rest == "" && flag == "--exclude":
		return "a directory is left out by not naming it"
	case rest == "":
		return "write what is below the directory, as in " + flag + " /drafts/"
	case len(cfg.places) > 1:
		return "write " + flag + " " + quoteArg("/"+rest) + ", which holds inside each of the directories"
	}
	return "write " + flag + " " + quoteArg("/"+rest)
}

// slashAs ends a path in a slash if the glob that it was made of does, which means directories only.
func slashAs(rest, glob string) string {
	if rest != "" && strings.HasSuffix(glob, "/") {
		return rest + "/"
	}
	return rest
}

// expanded is the hint on a glob that the shell has replaced by files: the first is the flag's, the others are in the places
// of directories.
func (cfg *config) expanded(file string) string {
	for _, kind := range cfg.kinds() {
		for _, g := range kind.globs {
			if exists(g.String()) {
				return "the shell may have expanded a glob: put it in quotes, as in " + kind.flag + " " + quoteArg("*"+filepath.Ext(file))
			}
		}
	}
	return ""
}
