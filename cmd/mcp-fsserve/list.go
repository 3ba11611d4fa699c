package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// list prints what a client that walks every page of resources/list is given.
// An interrupted list is not a whole one, so that is an error; it does not wait for whoever should read it.
func list(ctx context.Context, cfg config, stdout io.Writer, log *slog.Logger) error {
	printed := make(chan error, 1)
	go func() { printed <- printList(ctx, cfg, stdout, log) }()
	select {
	case err := <-printed:
		if ctx.Err() == nil || err == nil {
			return err
		}
	case <-ctx.Done():
	}
	return errors.New("interrupted before the list was complete")
}

func printList(ctx context.Context, cfg config, stdout io.Writer, log *slog.Logger) error {
	closed := &unread{Handler: log.Handler()}
	root, err := cfg.open(slog.New(closed))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Load(ctx); err != nil {
		return err
	}
	out := bufio.NewWriter(stdout)
	listed := 0
	err = pages(ctx, resources.NewCatalogue(cfg.paging(), root), func(r mcp.Resource) error {
		listed++
		_, err := out.WriteString(printable(rawName(r)) + "\n")
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return err
	}
	closed.tell(log)
	if listed == 0 {
		log.Warn("nothing is served", hintKey, "hidden files, ignored files and credentials are left out")
	}
	return nil
}

// pages calls visit for every resource, in the order of the list.
func pages(ctx context.Context, c *resources.Catalogue, visit func(mcp.Resource) error) error {
	var cursor *string
	for {
		page, err := c.List(ctx, cursor)
		if err != nil {
			return err
		}
		for _, r := range page.Resources {
			if err := visit(r); err != nil {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		cursor = &page.NextCursor
	}
}

// rawName is the name of r with the bytes that the disk has for it: where they are not valid UTF-8, only the URI tells
// two names apart.
func rawName(r mcp.Resource) string {
	if !strings.ContainsRune(r.Name, utf8.RuneError) {
		return r.Name
	}
	segments := strings.Split(r.URI, "/")
	depth := strings.Count(r.Name, "/") + 1
	raw, err := url.PathUnescape(strings.Join(segments[len(segments)-depth:], "/"))
	if err != nil {
		return r.Name
	}
	return raw
}

// printable quotes a name that would not stay on its line, or would read as a quoted one.
func printable(name string) string {
	if strings.HasPrefix(name, `"`) || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(name)
	}
	return name
}
