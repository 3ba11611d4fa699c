package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// expected says whether an answer is what the server should say about the fixture.
type expected func(*answer) bool

// of looks at an answer as it was sent.
func (e expected) of(said []byte) error {
	a, err := parseAnswer(said)
	if err != nil {
		return err
	}
	if !e(a) {
		return fmt.Errorf("the answer is not what the directory holds: %.300q", said)
	}
	return nil
}

// speaksRevision expects a server that has the revision in which it is asked.
var speaksRevision expected = func(a *answer) bool { return slices.Contains(a.Result.SupportedVersions, revision) }

// isText expects one content, which is text.
func isText(content []byte) expected {
	return func(a *answer) bool {
		return len(a.Result.Contents) == 1 && a.Result.Contents[0].Blob == nil && a.Result.Contents[0].Text == string(content)
	}
}

// isBlob expects one content, which is no text.
func isBlob(content []byte) expected {
	return func(a *answer) bool {
		return len(a.Result.Contents) == 1 && a.Result.Contents[0].Text == "" && bytes.Equal(a.Result.Contents[0].Blob, content)
	}
}

// isFirstPage expects 1,000 different resources, and that there are more.
var isFirstPage expected = func(a *answer) bool {
	seen := map[string]bool{}
	for _, r := range a.Result.Resources {
		if !strings.HasPrefix(r.URI, uriBase) {
			return false
		}
		seen[r.URI] = true
	}
	return len(a.Result.Resources) == 1000 && len(seen) == 1000 && a.Result.NextCursor != ""
}
