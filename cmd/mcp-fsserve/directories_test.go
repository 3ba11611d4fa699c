package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

func TestPlacesExpandHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	notes := filepath.Join(home, "my notes")
	for arg, want := range map[string]resources.Spec{
		"~": {Dir: home}, "~/": {Dir: home}, "~/my notes": {Dir: notes}, notes: {Dir: notes},
		"n=~/my notes": {Name: "n", Dir: notes}, "n=" + notes: {Name: "n", Dir: notes},
	} {
		if got, err := parsePlace(arg); err != nil || got.spec != want {
			t.Errorf("parsePlace(%q) = %+v, %v, want %+v", arg, got.spec, err, want)
		}
	}
	if got, err := parsePlace("~other/notes"); err != nil || got.written != "~other/notes" {
		t.Errorf("~other became %q, %v", got.written, err)
	}
}

func TestNameEndsAtTheFirstEqualsSignUnlessItIsOfAPath(t *testing.T) {
	here, err := os.Getwd()
	must(t, err)
	for arg, want := range map[string]resources.Spec{
		"a=b":     {Name: "a", Dir: filepath.Join(here, "b")},
		"a=b=c":   {Name: "a", Dir: filepath.Join(here, "b=c")},
		"./a=b":   {Dir: filepath.Join(here, "a=b")},
		"x/a=b":   {Dir: filepath.Join(here, "x", "a=b")},
		"a=./b=c": {Name: "a", Dir: filepath.Join(here, "b=c")},
		"A b=c":   {Name: "A b", Dir: filepath.Join(here, "c")}, // OpenRoots refuses the name
	} {
		got, err := parsePlace(arg)
		if err != nil || got.spec != want {
			t.Errorf("parsePlace(%q) = %+v, %v, want %+v", arg, got.spec, err, want)
		}
		again, err := parsePlace(passed([]place{got})[0])
		if err != nil || again.spec != want {
			t.Errorf("passed on, %q is %+v, %v", arg, again.spec, err)
		}
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
		{"unreadable", dir, fmt.Errorf("%w: %w", resources.ErrUnreadable, syscall.EACCES), nil, "directory cannot be read: " + dir, "permission"},
		{"no descriptors", dir, fmt.Errorf("%w: %w", resources.ErrUnreadable, syscall.EMFILE), nil, "directory cannot be read: " + dir + ": too many open files", "ulimit -n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := parsePlace(test.dir)
			must(t, err)
			cfg := config{places: []place{p}, command: programName, commands: test.commands}
			err = cfg.explain(&resources.RootError{Dir: p.spec.Dir, Err: test.err})
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

func TestNameInAHintIsOne(t *testing.T) {
	for name, want := range map[string]string{"My Notes": "my-notes", "ä": "docs", "-x": "x", ".a_b": "a-b", "..": "docs", "Docs": "docs"} {
		if got := goodName(name); got != want {
			t.Errorf("goodName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestQuoteArgReadsBack(t *testing.T) {
	for arg, want := range map[string]string{
		"/a/b": "/a/b", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~x": "'~x'", "": "''",
	} {
		if got := quoteArg(arg); got != want {
			t.Errorf("quoteArg(%q) = %s, want %s", arg, got, want)
		}
	}
}
