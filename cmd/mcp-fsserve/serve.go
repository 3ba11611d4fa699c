package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/resources"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// watchingMessage is logged when every directory is watched and what happened before that has been found.
const watchingMessage = "the directory is watched"

// changedMeta is the key of _meta under which the notification for a directory names what changed beneath it. Its prefix is
// the project's own ("reverse DNS notation", 2026-07-28, basic/index, "_meta").
const changedMeta = "io.github.mcp-fsserve/changed"

// config is what to serve.
type config struct {
	dir      string // absolute
	base     string // prefix of every URI, ending in "/"; empty: file:// and dir
	pageSize int    // resources on a page of the list; 0: the default
}

// open makes the catalogue's one root. Its error is for the user.
func (cfg config) open(log *slog.Logger) (*resources.Root, error) {
	root, err := resources.Open(cfg.dir, &resources.Options{Base: cfg.base, Logger: log})
	if err != nil {
		return nil, explain("mcp-fsserve", cfg.dir, err, nil)
	}
	return root, nil
}

func (cfg config) paging() *resources.CatalogueOptions {
	return &resources.CatalogueOptions{PageSize: cfg.pageSize}
}

// serve is the wiring: events go from the watcher through the root to the hub, requests from the transport to the
// catalogue and the hub. It returns when in ends or ctx does, after everything it started.
func serve(ctx context.Context, cfg config, in io.Reader, out io.Writer, log *slog.Logger) error {
	root, err := cfg.open(log)
	if err != nil {
		return err
	}
	defer root.Close()
	w, err := watcher.New(cfg.dir, &watcher.Options{Skip: root.Skip, Logger: log})
	if err != nil {
		return err
	}
	log.Info("serving", "dir", cfg.dir)
	hub := listen.NewHub(&listen.Options{ChangedMeta: changedMeta})
	info := mcp.Implementation{Name: "mcp-fsserve", Version: programVersion()}
	server := transport.NewServer(resources.NewCatalogue(cfg.paging(), root), hub, &transport.Options{Info: info, Logger: log})

	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx: requests in flight still need it
	var rooms sync.WaitGroup
	defer leave(&rooms, log)
	defer stop()
	rooms.Go(func() {
		if err := root.Load(background); err != nil && background.Err() == nil {
			log.Error("directory cannot be walked", "err", err)
		}
	})
	rooms.Go(func() {
		var watching sync.Once
		err := w.Run(background, func(b watcher.Batch) watcher.Reply {
			change, reply := root.Apply(b)
			hub.Publish(listen.Change{Keys: change.Keys, List: change.List})
			watching.Do(func() { log.Debug(watchingMessage) })
			return reply
		})
		if err != nil && background.Err() == nil {
			log.Error("directory cannot be watched, so changes are no longer announced", "err", err)
		}
	})
	return server.ServeStdio(ctx, in, out)
}

// leaveWithin is how long the rooms may take to end. The rest of the two seconds in which the program leaves is the
// transport's.
const leaveWithin = 250 * time.Millisecond

// leave waits for the rooms, unless one is held up: a disk may not answer, and the kernel of a busy machine may take a third
// of a second to close the watches. That must not hold the process, and nobody can or need do anything about it.
func leave(rooms *sync.WaitGroup, log *slog.Logger) {
	left := make(chan struct{})
	go func() {
		rooms.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(leaveWithin):
		log.Debug("leaving although the directory is still being read, or its watches closed")
	}
}
