package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"
)

// endWithin is how long a server may take to leave after its input has ended; it promises two seconds.
const endWithin = 5 * time.Second

// listenTo starts this executable as a server with the given arguments and follows it.
func listenTo(ctx context.Context, server []string, facts *facts, stderr io.Writer, log *slog.Logger) error {
	child, err := startSelf(server, stderr)
	if err != nil {
		return err
	}
	return follow(ctx, child, facts, log)
}

// follow tells facts until ctx ends, which is no error, or the server does, which is one. The server has ended when it
// returns.
func follow(ctx context.Context, server *child, facts *facts, log *slog.Logger) error {
	c := newClient(server.in)
	read := make(chan error, 1)
	go func() { read <- c.read(server.out) }()

	l := newListener(c, facts, log)
	told := l.run(ctx)
	go func() {
		for range c.notices { // lets read come to the end, which closes notices
		}
	}()
	exit := server.end(endWithin, read)
	l.workers.Wait()
	switch {
	case errors.Is(told, errServerEnded) && exit != nil:
		return withHint("what it said on standard error stands above", "the server ended by itself: %v", exit)
	case errors.Is(told, errServerEnded):
		return errors.New("the server ended by itself")
	case told != nil:
		return told
	case exit != nil:
		log.Warn("the server did not end in order", "err", exit)
	}
	return nil
}
