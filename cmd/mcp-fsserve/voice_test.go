package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestVoiceSpeaksOneLineARecord(t *testing.T) {
	for _, test := range []struct {
		name string
		say  func(*slog.Logger)
		want string
	}{
		{"error", func(l *slog.Logger) { l.Error("no such directory: x") }, "mcp-fsserve: error: no such directory: x\n"},
		{"warning", func(l *slog.Logger) { l.Warn("odd") }, "mcp-fsserve: warning: odd\n"},
		{"info", func(l *slog.Logger) { l.Info("plain") }, "mcp-fsserve: plain\n"},
		{"debug", func(l *slog.Logger) { l.Debug("detail") }, "mcp-fsserve: debug: detail\n"},
		{"hint", func(l *slog.Logger) { l.Warn("odd", "count", 3, hintKey, "look at \"it\"") },
			"mcp-fsserve: warning: odd count=3\nmcp-fsserve: hint: look at \"it\"\n"},
		{"attributes", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", "x y").Info("m", "c", "", slog.Group("h", "d", `q"`))
		}, "mcp-fsserve: m a=1 g.b=\"x y\" g.c=\"\" g.h.d=\"q\\\"\"\n"},
		{"error value", func(l *slog.Logger) { l.Info("m", "err", errors.New("a b")) }, "mcp-fsserve: m err=\"a b\"\n"},
		{"forged line", func(l *slog.Logger) { l.Info("a\nmcp-fsserve: b", "path", "c\nd\x1b") },
			`mcp-fsserve: a\nmcp-fsserve: b path="c\nd\x1b"` + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			test.say(newLogger(&out, "text", "debug"))
			if out.String() != test.want {
				t.Errorf("said %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestVoiceKeepsQuietBelowItsLevel(t *testing.T) {
	var out bytes.Buffer
	for _, format := range []string{"text", "json"} {
		l := newLogger(&out, format, "warn")
		l.Debug("a")
		l.Info("b")
	}
	if out.Len() > 0 {
		t.Errorf("said %q", out.String())
	}
	newLogger(&out, "json", "warn").Warn("c")
	if !strings.Contains(out.String(), `"msg":"c"`) {
		t.Errorf("said %q", out.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDeafNeverFails(t *testing.T) {
	if n, err := (deaf{broken{}}).Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
}
