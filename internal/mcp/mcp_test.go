package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestSupportedVersionsNamesTheModernOneFirst(t *testing.T) {
	want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	if got := SupportedVersions(); !slices.Equal(got, want) {
		t.Errorf("versions are %q, want %q", got, want)
	}
	if slices.Contains(LegacyVersions(), Modern) {
		t.Error("initialize can negotiate the modern revision")
	}
}

func TestVersionListsAreTheCallersOwn(t *testing.T) {
	SupportedVersions()[0] = "x"
	LegacyVersions()[0] = "x"
	if slices.Contains(SupportedVersions(), "x") || slices.Contains(LegacyVersions(), "x") {
		t.Error("a caller changed the versions of all others")
	}
}

func TestWireForm(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"resource", Resource{URI: "test://a", Name: "a", MIMEType: "text/plain"}, `{"uri":"test://a","name":"a","mimeType":"text/plain","size":0}`},
		{"resource with annotations",
			Resource{URI: "test://a", Name: "a", MIMEType: "text/plain", Size: 5, Annotations: Annotations{LastModified: "2026-07-28T00:00:00Z"}},
			`{"uri":"test://a","name":"a","mimeType":"text/plain","size":5,"annotations":{"lastModified":"2026-07-28T00:00:00Z"}}`},
		{"template", ResourceTemplate{URITemplate: "test://{+path}", Name: "tree"}, `{"uriTemplate":"test://{+path}","name":"tree"}`},
		{"implementation", Implementation{Name: "x", Version: "1"}, `{"name":"x","version":"1"}`},
	} {
		got, err := json.Marshal(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%s is %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestErrorsAreFoundWhenWrapped(t *testing.T) {
	var notFound *NotFoundError
	var tooLarge *TooLargeError
	var unreadable *ReadError
	if err := fmt.Errorf("read: %w", &NotFoundError{URI: "test://a"}); !errors.As(err, &notFound) || notFound.URI != "test://a" {
		t.Error("not found")
	}
	if err := fmt.Errorf("read: %w", &TooLargeError{Size: 5, Limit: 4}); !errors.As(err, &tooLarge) || tooLarge.Error() != "resource is too large: 5 bytes, the limit is 4" {
		t.Error("too large")
	}
	if err := fmt.Errorf("read: %w", &ReadError{Reason: "permission denied"}); !errors.As(err, &unreadable) || unreadable.Error() != "resource cannot be read: permission denied" {
		t.Error("unreadable")
	}
}

func TestNotFoundNeverSaysWhy(t *testing.T) {
	if got := (&NotFoundError{URI: "file:///srv/.env"}).Error(); got != "resource not found" {
		t.Errorf("the text is %q", got)
	}
}
