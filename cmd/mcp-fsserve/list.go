package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// printer writes a list down, entry by entry, so that a list of any length shows at once and takes no memory.
type printer interface {
	entry(r mcp.Resource) error
	end(totals) error // after the last entry of a complete list
}

// totals are of all entries.
type totals struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// list prints what a client that walks every page of resources/list is given.
// An interrupted list is not a whole one, so that is an error; it does not wait for whoever should read it.
func list(ctx context.Context, cfg config, form func(io.Writer) printer, stdout io.Writer, log *slog.Logger) error {
	printed := make(chan error, 1)
	go func() { printed <- printList(ctx, cfg, form, stdout, log) }()
	select {
	case err := <-printed:
		if ctx.Err() == nil || err == nil {
			return err
		}
	case <-ctx.Done():
	}
	return errors.New("interrupted before the list was complete")
}

func printList(ctx context.Context, cfg config, form func(io.Writer) printer, stdout io.Writer, log *slog.Logger) error {
	roots, err := cfg.open(log)
	if err != nil {
		return err
	}
	defer closeAll(roots)
	cfg.warn(roots, log)
	ctx, stop := context.WithCancel(ctx)
	var walks sync.WaitGroup
	defer walks.Wait()
	defer stop()
	for _, root := range roots {
		walks.Go(func() { _ = root.Load(ctx) }) // fails only with ctx, and then so does the list
	}
	out := bufio.NewWriter(stdout)
	p := form(out)
	sum, err := printPages(ctx, cfg.catalogue(roots, nil), p)
	if err != nil {
		return err
	}
	left := missed(roots)
	short := incomplete(left)
	if short == nil {
		err = p.end(sum)
	}
	if err := cmp.Or(err, out.Flush(), short); err != nil {
		return err
	}
	tellMissed(left, log)
	if sum.Files == 0 {
		log.Warn("nothing is served", hintKey, cfg.whyEmpty())
	}
	return nil
}

// printPages walks all pages.
func printPages(ctx context.Context, c *resources.Catalogue, p printer) (sum totals, err error) {
	err = pages(ctx, c, func(r mcp.Resource) error {
		sum.Files++
		sum.Bytes += r.Size
		return p.entry(r)
	})
	return sum, err
}

// whyEmpty tells what may have left out everything.
func (cfg *config) whyEmpty() string {
	for _, g := range cfg.include {
		switch text := g.String(); {
		case strings.Contains(text, ",") && !strings.Contains(text, "{"):
			return "a comma is part of a glob: write --include " + quoteArg("{"+text+"}") + ", or --include once for each"
		case strings.HasPrefix(text, ".") && !strings.ContainsAny(text, "*?[{/"):
			return "--include " + text + " means a whole name: for an ending write --include " + quoteArg("*"+text)
		}
	}
	if len(cfg.include) > 0 {
		return "case counts in --include; several are given by repeating it, or as {a,b}; --why PATH tells which rule hides a file"
	}
	if len(cfg.exclude) > 0 {
		return "of a file that should be served, --why PATH tells which rule hides it"
	}
	return "hidden files, ignored files and credentials are left out; --why PATH tells the rule"
}

// pages calls visit for every resource, in the order of the list, until it fails.
func pages(ctx context.Context, c *resources.Catalogue, visit func(mcp.Resource) error) error {
	var cursor *string
	for {
		var failed error
		next, err := c.List(ctx, cursor, func(r *mcp.Resource) {
			if failed == nil {
				failed = visit(*r)
			}
		})
		if err := cmp.Or(failed, err); err != nil || next == "" {
			return err
		}
		cursor = &next
	}
}
