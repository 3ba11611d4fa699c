package main

import (
	"errors"
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

// checkGlobs finds globs that a shell or a habit made paths on disk, which would match, and exclude, nothing.
func (cfg *config) checkGlobs() error {
	for _, kind := range cfg.kinds() {
		for _, g := range kind.globs {
			if rest, ok := cfg.onDisk(g.String()); ok {
				return usageError(cfg.inside(kind.flag, slashAs(rest, g.String())),
					"%s %s: globs begin at the served directory", kind.flag, quoteArg(g.String()))
			}
		}
	}
	return nil
}

// onDisk finds the path below a directory that a glob gives as one on disk, unless there is such a path below one of them too.
// Of nested directories the inner one counts.
func (cfg *config) onDisk(glob string) (rest string, found bool) {
	for _, dir := range cfg.directories() {
		below, ok := beneath(dir, filepath.FromSlash(glob))
		if !ok || !filepath.IsAbs(glob) || dir == filepath.Dir(dir) || cfg.holds(strings.TrimPrefix(dir, filepath.VolumeName(dir))) {
			continue
		}
		if !found || len(below) < len(rest) {
			rest, found = below, true
		}
	}
	return rest, found
}

// directories are those that are served, as they are spelled and without links.
func (cfg *config) directories() (dirs []string) {
	for _, p := range cfg.places {
		dirs = append(dirs, p.spec.Dir)
		if real, err := filepath.EvalSymlinks(p.spec.Dir); err == nil && real != p.spec.Dir {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// warn says which directories are missing, and which globs match nothing.
func (cfg *config) warn(roots []*resources.Root, log *slog.Logger) {
	for i, r := range roots {
		if r.Missing() {
			p := cfg.places[i]
			log.Warn("no such directory, served when it appears: "+p.written, hintKey, whyMissing(p))
		}
	}
	cfg.warnGlobs(roots, log)
}

// catalogue is the one that clients see. Without b it tells what is known.
func (cfg *config) catalogue(roots []*resources.Root, b *barrier) *resources.Catalogue {
	opts := &resources.CatalogueOptions{PageSize: cfg.pageSize}
	if b != nil {
		opts.Update, opts.Asked = b.update, b.asked
	}
	return resources.NewCatalogue(opts, roots...)
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
