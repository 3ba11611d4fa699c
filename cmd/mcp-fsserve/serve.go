package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

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

// serve is the wiring: events go from the watchers through their roots to the hub, requests from the transport to the
// catalogue and the hub. It returns when ctx ends or, unless it serves HTTP, in does, after everything it started.
func serve(ctx context.Context, cfg config, in io.Reader, out io.Writer, log *slog.Logger) error {
	roots, err := cfg.open(log)
	if err != nil {
		return err
	}
	defer closeAll(roots)
	front, err := cfg.front(log)
	if err != nil {
		return err
	}
	defer front.close()
	cfg.warn(roots, log)
	cfg.fit(descriptors(), log)
	hub := listen.NewHub(&listen.Options{MaxStreams: cfg.maxListens, ChangedMeta: changedMeta})
	info := transport.Implementation{Name: "mcp-fsserve", Version: programVersion()}
	var watchers barrier
	server := transport.NewServer(cfg.catalogue(roots, &watchers), hub, &transport.Options{Info: info, TTL: cfg.ttl, MaxURIs: cfg.maxURIs, Logger: log})

	background, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx: requests in flight still need it
	var rooms sync.WaitGroup
	var shortage watcher.Shortage
	defer leave(&rooms, log)
	defer stop()
	for _, root := range roots {
		w, err := watcher.New(root.Dir(), &watcher.Options{
			Skip: root.Skip, Poll: cfg.poll, Look: root.Rounds(hub.Keys).Look, Shortage: &shortage, Logger: log,
		})
		if err != nil {
			return err
		}
		log.Info("serving", "dir", root.Dir())
		rooms.Go(func() { load(background, root, log) })
		watching := watchers.add(w)
		rooms.Go(func() { watch(background, w, root, hub, watching, log) })
	}
	if front != nil {
		cfg.say.Info("listening", "url", front.url)
		return serveHTTP(ctx, front, server.Handler(cfg.web.options(front.guard, log)), log)
	}
	greet(in, cfg.places, log)
	return server.ServeStdio(ctx, in, out)
}

func load(ctx context.Context, root *resources.Root, log *slog.Logger) {
	if err := root.Load(ctx); err != nil && ctx.Err() == nil {
		log.Error("directory cannot be walked", "dir", root.Dir(), "err", err)
	}
}

// watch tells the hub what changes in root. It calls watching when all that happened before is known.
func watch(ctx context.Context, w *watcher.Watcher, root *resources.Root, hub *listen.Hub, watching func(), log *slog.Logger) {
	var first sync.Once
	err := w.Run(ctx, func(b watcher.Batch) watcher.Reply {
		change, reply := root.Apply(b)
		hub.Publish(listen.Change{Keys: change.Keys, List: change.List})
		first.Do(func() {
			watching()
			log.Debug(watchingMessage, "dir", root.Dir())
		})
		return reply
	})
	if err != nil && ctx.Err() == nil {
		log.Error("directory cannot be watched, so changes are no longer announced", "dir", root.Dir(), "err", err)
	}
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
