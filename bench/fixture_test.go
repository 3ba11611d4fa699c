package main

import (
	"testing"
	"unicode/utf8"
)

// Text is text at whatever length, and bytes are none.
func TestTheFixtureIsTextAndBytes(t *testing.T) {
	for n := range 400 {
		if text := prose(n); len(text) != n || !utf8.Valid(text) {
			t.Errorf("%d bytes of text are %d: %q", n, len(text), text)
		}
	}
	if utf8.Valid(binaryContent) {
		t.Error("the bytes are text")
	}
}

// Trees of one size, one of which is one directory, are not filed as one.
func TestTreesHaveNamesOfTheirOwn(t *testing.T) {
	for _, flat := range []int{500, filesPerDir, 2000, 3000} {
		s := scale{trees: []int{500, filesPerDir, 2000}, flat: flat}
		names := map[string]bool{}
		for _, tree := range s.directories() {
			names[tree.String()] = true
		}
		if len(names) != 4 || !names[counted(flat, "file")+" in one directory"] {
			t.Errorf("with %d files in one directory the trees are called %v", flat, names)
		}
	}
}

// Trees are refused that a file system has no room for.
func TestRoomForATree(t *testing.T) {
	if err := room(t.TempDir(), 1000); err != nil {
		t.Errorf("a thousand files: %v", err)
	}
	if err := room(t.TempDir(), 1<<50); err == nil {
		t.Error("there is room for 2^50 files")
	}
}
