package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// explainPaths prints for each path whether it is served and which rule decides.
func explainPaths(ctx context.Context, cfg config, paths []string, stdout io.Writer, log *slog.Logger) error {
	roots, err := cfg.open(log)
	if err != nil {
		return err
	}
	defer closeAll(roots)
	cfg.warn(roots, log)
	for _, path := range paths {
		dir, err := expandHome(path)
		if err != nil {
			return err
		}
		line := whyLine(path, "", resources.Explanation{Reason: "not in a served directory"}, "")
		if root, rel := locate(roots, dir); root != nil {
			line = whyLine(path, rel, root.Explain(ctx, rel), cfg.tooLarge(root, rel))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.WriteString(stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// tooLarge says that a file cannot be read though it is served.
func (cfg *config) tooLarge(root *resources.Root, rel string) string {
	fi, err := os.Stat(filepath.Join(root.Dir(), filepath.FromSlash(rel)))
	if err != nil || !fi.Mode().IsRegular() || fi.Size() <= cfg.maxSize {
		return ""
	}
	return fmt.Sprintf("; too large to read, above --max-size %v", &size{value: &cfg.maxSize})
}

// whyLine is one line for one path. A rule that decides over a directory above is told with that directory. tooLarge is of
// what is served.
func whyLine(path, rel string, e resources.Explanation, tooLarge string) string {
	word := "hidden"
	if e.Served {
		word = "served"
	} else {
		tooLarge = ""
	}
	at := ""
	if e.At != rel && e.At != "" {
		at = " (at " + printable(e.At) + ")"
	}
	return fmt.Sprintf("%s  %s: %s%s%s\n", word, printable(path), oneLine(e.Reason), at, tooLarge)
}

// locate finds the root that path lies in, and its path below that: on disk or as clients name it, whichever of the two is
// there, on disk if neither is.
func locate(roots []*resources.Root, path string) (root *resources.Root, rel string) {
	onDisk, below := locateOnDisk(roots, path)
	if onDisk != nil && isThere(onDisk, below) {
		return onDisk, below
	}
	named, rest := locateByName(roots, path)
	if named != nil && (onDisk == nil || isThere(named, rest)) {
		return named, rest
	}
	return onDisk, below
}

func isThere(root *resources.Root, rel string) bool {
	_, err := os.Lstat(filepath.Join(root.Dir(), filepath.FromSlash(rel)))
	return err == nil
}

// locateOnDisk finds a path on disk. Of nested roots the inner one counts.
func locateOnDisk(roots []*resources.Root, path string) (root *resources.Root, rel string) {
	for _, spelling := range spellings(path) {
		for _, r := range roots {
			for _, dir := range []string{r.Dir(), realDir(r.Dir())} {
				if below, ok := beneath(dir, spelling); ok && (root == nil || len(below) < len(rel)) {
					root, rel = r, below
				}
			}
		}
	}
	return root, rel
}

// locateByName finds a path as the list has it: below the one root, or below NAME/ of several.
func locateByName(roots []*resources.Root, path string) (root *resources.Root, rel string) {
	rel = filepath.ToSlash(filepath.Clean(path))
	if filepath.IsAbs(path) || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, ""
	}
	if len(roots) == 1 {
		return roots[0], rel
	}
	name, rel, _ := strings.Cut(rel, "/")
	for _, r := range roots {
		if r.Name() == name {
			return r, rel
		}
	}
	return nil, ""
}

// spellings are the absolute path as it is, and with the links in its directory resolved; the last segment may be a link
// that is itself asked about.
func spellings(path string) []string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	all := []string{abs}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		all = append(all, filepath.Join(parent, filepath.Base(abs)))
	}
	return all
}

// realDir is dir without links, dir itself if it is missing.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// beneath returns the path of what lies in dir, with slashes and "" for dir itself.
func beneath(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return filepath.ToSlash(rel), true
}
