package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

// leaveRun is how long what --exec has started may take to leave when the program ends.
const leaveRun = 2 * time.Second

// runner runs a command after each change, one at a time. It owes a set, not a queue: of a resource that changes again
// before its turn the last change counts.
type runner struct {
	command string
	stderr  io.Writer // takes all that the command says: standard output carries facts alone
	log     *slog.Logger
	wake    chan struct{} // 1-buffered, never closed

	mu    sync.Mutex // guards the fields below
	order []string   // URIs of what is owed
	owed  map[string]client.Event
}

func newRunner(command string, stderr io.Writer, log *slog.Logger) *runner {
	return &runner{command: command, stderr: stderr, log: log, wake: make(chan struct{}, 1), owed: map[string]client.Event{}}
}

// add owes a run for e, if it is a change.
func (r *runner) add(e client.Event) {
	if e.Kind != client.Updated && e.Kind != client.Added && e.Kind != client.Removed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.owed[e.URI]; !known {
		r.order = append(r.order, e.URI)
	}
	r.owed[e.URI] = e
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next takes what is owed first.
func (r *runner) next() (e client.Event, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) == 0 {
		r.order = nil // an array does not shrink by itself
		return e, false
	}
	uri := r.order[0]
	r.order = r.order[1:]
	e = r.owed[uri]
	delete(r.owed, uri)
	return e, true
}

// run runs what is owed until ctx ends, with which the command under way is told to leave.
func (r *runner) run(ctx context.Context) {
	for ctx.Err() == nil {
		e, ok := r.next()
		if ok {
			r.once(ctx, e)
			continue
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
}

// once runs the command for one change.
func (r *runner) once(ctx context.Context, e client.Event) {
	cmd := shellCommand(ctx, r.command)
	cmd.Env = append(os.Environ(), "MCP_FSSERVE_EVENT="+e.Kind.String(), "MCP_FSSERVE_URI="+e.URI)
	cmd.Stdout, cmd.Stderr = r.stderr, r.stderr
	var held []io.Reader // all parts of what the resource holds, one behind the other
	for _, part := range e.Contents {
		held = append(held, bytes.NewReader(part.Data))
	}
	if len(held) > 0 {
		cmd.Stdin = io.MultiReader(held...)
	}
	cmd.Cancel = func() error { return askGroup(cmd.Process) }
	cmd.WaitDelay = leaveRun
	err := cmd.Run()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			killGroup(cmd.Process)
		}
		return
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		r.log.Warn("what --exec has run failed", "err", err, "uri", e.URI)
	}
}
