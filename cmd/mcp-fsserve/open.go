package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// config is what to serve and how.
type config struct {
	places []place
	settings

	command  string   // how the program was called, for the hints
	commands []string // what the first argument may have meant instead
}

// open opens the directories. Its error is for the user; of a directory that is missing beside others it warns.
func (cfg *config) open(log *slog.Logger) ([]*resources.Root, error) {
	if err := cfg.checkGlobs(); err != nil {
		return nil, err
	}
	var specs []resources.Spec
	for _, p := range cfg.places {
		specs = append(specs, p.spec)
	}
	roots, err := resources.OpenRoots(specs, cfg.options(log))
	if err != nil {
		return nil, cfg.explain(err)
	}
	return roots, nil
}

// checkGlobs finds globs that a shell or a habit made paths on disk, which would match, and exclude, nothing.
func (cfg *config) checkGlobs() error {
	for _, kind := range cfg.kinds() {
		for _, g := range kind.globs {
			if rest, ok := cfg.misplaced(filepath.FromSlash(g.String())); ok {
				return usageError(fmt.Sprintf("write %s %s", kind.flag, quoteArg("/"+rest)),
					"%s %s: globs begin at the served directory", kind.flag, quoteArg(g.String()))
			}
		}
	}
	return nil
}

// misplaced reports whether a glob begins with the path of a directory, unless there is that path below one of them too, and
// what comes after it.
func (cfg *config) misplaced(glob string) (rest string, ok bool) {
	for _, p := range cfg.places {
		dir := p.spec.Dir
		below, in := beneath(dir, glob)
		if !in || !filepath.IsAbs(glob) || dir == filepath.Dir(dir) {
			continue
		}
		rest, ok = below, true
		for _, other := range cfg.places {
			if exists(filepath.Join(other.spec.Dir, strings.TrimPrefix(dir, filepath.VolumeName(dir)))) {
				return "", false
			}
		}
	}
	return rest, ok
}

// warn says which directories are missing.
func (cfg *config) warn(roots []*resources.Root, log *slog.Logger) {
	for i, r := range roots {
		if r.Missing() {
			p := cfg.places[i]
			log.Warn("no such directory, served when it appears: "+p.written, hintKey, whyMissing(p, nil))
		}
	}
}

// catalogue is the one that clients see.
func (cfg *config) catalogue(roots []*resources.Root) *resources.Catalogue {
	return resources.NewCatalogue(&resources.CatalogueOptions{PageSize: cfg.pageSize}, roots...)
}

// check reports why the directories cannot be served, nil when they can.
func (cfg *config) check() error {
	roots, err := cfg.open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return closeAll(roots)
}

func closeAll(roots []*resources.Root) error {
	var all []error
	for _, r := range roots {
		all = append(all, r.Close())
	}
	return errors.Join(all...)
}
