package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// config is what to serve and how.
type config struct {
	places []place
	settings

	command  string   // how the program was called, for the hints
	commands []string // what the first argument may have meant instead

	say *slog.Logger // tells people what they need, whatever is logged; needed with --http only
}

// open opens the directories. Its error is for the user; of a directory that is missing beside others it warns.
func (cfg *config) open(log *slog.Logger) (roots []*resources.Root, err error) {
	if err := cfg.checkGlobs(); err != nil {
		return nil, err
	}
	var specs []resources.Spec
	for _, p := range cfg.places {
		specs = append(specs, p.spec)
	}
	opts := cfg.options(log)
	base, err := cfg.remoteBase(specs)
	if err == nil {
		opts.Base = base
		roots, err = resources.OpenRoots(specs, opts)
	}
	if err != nil {
		return nil, cfg.explain(err)
	}
	return roots, nil
}

// remoteBase is what URIs begin with. Over HTTP that is fs://NAME/: a client must not take the server's disk for its own, nor
// learn where the directory is. Of several directories resources adds the names.
func (cfg *config) remoteBase(specs []resources.Spec) (string, error) {
	if cfg.web.addr == "" || cfg.base != "" {
		return cfg.base, nil
	}
	names, err := resources.Names(specs)
	if err != nil || len(names) != 1 {
		return "fs://", err
	}
	return "fs://" + names[0] + "/", nil
}

// checkGlobs finds globs that are written as paths on disk, which would match nothing.
func (cfg *config) checkGlobs() error {
	for _, kind := range cfg.kinds() {
		for _, g := range kind.globs {
			for _, p := range cfg.places {
				rest, ok := beneath(p.spec.Dir, filepath.FromSlash(g.String()))
				if ok && filepath.IsAbs(g.String()) && p.spec.Dir != filepath.Dir(p.spec.Dir) {
					return usageError(fmt.Sprintf("write %s %s", kind.flag, quoteArg("/"+rest)),
						"%s %s: globs begin at the served directory", kind.flag, quoteArg(g.String()))
				}
			}
		}
	}
	return nil
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
