package main

import (
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

func TestListIsIncompleteWithWhatCouldNotBeLookedAt(t *testing.T) {
	if err := incomplete(resources.Missed{Dirs: 3, Example: "a", Reason: "permission denied"}); err != nil {
		t.Error(err)
	}
	want := "the list is not complete: too many open files"
	if err := incomplete(resources.Missed{Passing: "too many open files"}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
