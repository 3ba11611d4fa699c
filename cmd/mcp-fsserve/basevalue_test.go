package main

import (
	"strings"
	"testing"
)

// TestHintOnABaseLeadsToNoOtherError: a missing slash is what the hint cures, so it is told of what is right otherwise.
func TestHintOnABaseLeadsToNoOtherError(t *testing.T) {
	for text, slashAlone := range map[string]bool{
		"https://a": true, "https://a/b": true, "https://[::1]:80/x": true,
		"https://a/?x": false, "https://a#x": false, "https://a/..": false, "https://a/%2": false, "https://a/b c": false, "docs": false,
	} {
		var got string
		base := &baseURI{"--uri-base", &got}
		wrong, ok := base.Set(text).(*valueError)
		if !ok || got != "" || strings.HasPrefix(wrong.hint, "write ") != slashAlone {
			t.Errorf("%s: %v, %q", text, wrong, got)
			continue
		}
		if write, ok := strings.CutPrefix(wrong.hint, "write "); ok {
			if err := base.Set(strings.Trim(write, "'")); err != nil {
				t.Errorf("%s: told to write %s, which is wrong too: %v", text, write, err)
			}
		}
	}
}
