package main

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// hintKey is the attribute that tells the reader what to do; as text it gets a line of its own.
const hintKey = "hint"

// newLogger speaks on w from level upwards: to people, or to machines with format "json".
func newLogger(w io.Writer, format, level string) *slog.Logger {
	least := logLevels[level]
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: least}))
	}
	return slog.New(&voice{mu: new(sync.Mutex), out: w, least: least})
}

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// voice is the slog.Handler for people: one line a record, written by one Write, without a timestamp since hosts add
// their own.
type voice struct {
	mu    *sync.Mutex // serialises writes to out; shared by all handlers derived from one
	out   io.Writer
	least slog.Level
	group string // prefix of attribute names, each part followed by a dot
	attrs string // rendered attributes of WithAttrs, each after a space
}

func (v *voice) Enabled(_ context.Context, level slog.Level) bool { return level >= v.least }

func (v *voice) WithGroup(name string) slog.Handler {
	w := *v
	w.group += name + "."
	return &w
}

func (v *voice) WithAttrs(attrs []slog.Attr) slog.Handler {
	w := *v
	for _, a := range attrs {
		w.attrs += attribute(v.group, a)
	}
	return &w
}

func (v *voice) Handle(_ context.Context, r slog.Record) error {
	var line, hint strings.Builder
	line.WriteString("mcp-fsserve: ")
	line.WriteString(prefix(r.Level))
	line.WriteString(oneLine(r.Message))
	line.WriteString(v.attrs)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == hintKey {
			hint.WriteString("mcp-fsserve: hint: " + oneLine(a.Value.String()) + "\n")
		} else {
			line.WriteString(attribute(v.group, a))
		}
		return true
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err := io.WriteString(v.out, line.String()+"\n"+hint.String())
	return err
}

func prefix(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "error: "
	case level >= slog.LevelWarn:
		return "warning: "
	case level >= slog.LevelInfo:
		return ""
	}
	return "debug: "
}

func attribute(group string, a slog.Attr) string {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		var all strings.Builder
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, member := range value.Group() {
			all.WriteString(attribute(group, member))
		}
		return all.String()
	}
	text := value.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || r == '"' || r == '=' || !plain(r) }) {
		text = strconv.Quote(text)
	}
	return " " + group + a.Key + "=" + text
}

// oneLine keeps a file name in a message from forging further lines or driving a terminal.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func plain(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }

// deaf is a writer that never fails: some hosts close the server's stderr, and a log line that nobody reads must not
// end anything.
type deaf struct{ w io.Writer }

func (d deaf) Write(b []byte) (int, error) {
	_, _ = d.w.Write(b)
	return len(b), nil
}
