package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

func TestDirectoryExpandsHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	notes := filepath.Join(home, "my notes")
	if err := os.Mkdir(notes, 0o777); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{"~": home, "~/": home, "~/my notes": notes, notes: notes} {
		if got, err := directory("mcp-fsserve", []string{arg}, nil); err != nil || got != want {
			t.Errorf("directory(%q) = %q, %v, want %q", arg, got, err, want)
		}
	}
	if _, err := directory("mcp-fsserve", []string{"~other/notes"}, nil); err == nil {
		t.Error("~other was expanded")
	}
}

func TestExplainGivesAHint(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a file.txt")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, test := range []struct {
		name      string
		dir       string
		err       error
		commands  []string
		want      string
		wantInTip string
	}{
		{"missing", "/nowhere/x", resources.ErrMissing, nil, "no such directory: /nowhere/x", "spelling"},
		{"missing and relative", "x", resources.ErrMissing, nil, "no such directory: x", "current directory"},
		{"mistyped command", "lsit", resources.ErrMissing, []string{"list"}, "no such directory: lsit", "mcp-fsserve list DIR"},
		{"file", file, resources.ErrNotDirectory, nil, "not a directory: " + file, "name the directory it is in: mcp-fsserve " + quoteArg(dir)},
		{"unreadable", dir, fmt.Errorf("%w: permission denied", resources.ErrUnreadable), nil, "directory cannot be read: " + dir, "permission"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := explain("mcp-fsserve", test.dir, test.err, test.commands)
			var h *hinted
			if !errors.As(err, &h) {
				t.Fatalf("no hint: %v", err)
			}
			if err.Error() != test.want || !strings.Contains(h.hint, test.wantInTip) {
				t.Errorf("said %q with hint %q", err, h.hint)
			}
		})
	}
}

func TestQuoteArgReadsBack(t *testing.T) {
	for arg, want := range map[string]string{
		"/a/b": "/a/b", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~x": "'~x'",
	} {
		if got := quoteArg(arg); got != want {
			t.Errorf("quoteArg(%q) = %s, want %s", arg, got, want)
		}
	}
}
