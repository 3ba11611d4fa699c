package main

import (
	"context"
	"log/slog"
	"sync"
)

// unlistable is what resources logs, for those who debug, of a visible directory that cannot be listed.
const unlistable = "a directory cannot be listed"

// unread is a slog.Handler that counts such directories and passes everything on. Handlers derived from it do not count.
type unread struct {
	slog.Handler

	mu      sync.Mutex // guards what follows
	count   int
	example string // the path of the first
	reason  string // why that one cannot be listed
}

// Enabled wants all records: those that are counted may be below the level of what is passed on.
func (u *unread) Enabled(context.Context, slog.Level) bool { return true }

func (u *unread) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == unlistable {
		u.add(r)
	}
	if !u.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

func (u *unread) add(r slog.Record) {
	var dir, reason string
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "dir":
			dir = a.Value.String()
		case "reason":
			reason = a.Value.String()
		}
		return true
	})
	if dir == "" { // a served directory itself: one that is missing, of which there is a warning
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count++; u.count == 1 {
		u.example, u.reason = dir, reason
	}
}

// tell warns once of all that was counted.
func (u *unread) tell(log *slog.Logger) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count > 0 {
		log.Warn("directories cannot be read, so that nothing in them is served",
			"count", u.count, "example", u.example, "reason", u.reason)
	}
}
