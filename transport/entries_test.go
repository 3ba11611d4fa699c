package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// manyEntries are n entries whose names begin with prefix.
func manyEntries(prefix string, n int) (out []mcp.Resource) {
	types := []string{"text/plain", "text/plain", "image/png", ""}
	for i := range n {
		r := mcp.Resource{URI: fmt.Sprintf("test://top/%s%d", prefix, i), Name: fmt.Sprintf("%s\"%d", prefix, i), MIMEType: types[i%len(types)], Size: int64(i)}
		if i%3 > 0 {
			r.Annotations.LastModified = fmt.Sprintf("2025-01-12T15:00:%02dZ", i%60)
		}
		out = append(out, r)
	}
	return out
}

// TestPagesOfAnySize: each entry is there, in memory that other pages had and that others are given afterwards.
func TestPagesOfAnySize(t *testing.T) {
	cat := newFakeCatalogue()
	s := NewServer(cat, listen.NewHub(nil), nil)
	respond := func(version string) *[]byte {
		frame := newFrame()
		r := request{modern: version == mcp.Modern, method: modernMethods["resources/list"], version: version}
		var err error
		if *frame, err = s.respond(t.Context(), &r, *frame); err != nil {
			t.Fatal(err)
		}
		return frame
	}
	check := func(frame []byte, version string, want []mcp.Resource) {
		t.Helper()
		var got struct {
			Result struct {
				Resources  []mcp.Resource
				NextCursor string
			}
		}
		if err := json.Unmarshal(frame, &got); err != nil || len(got.Result.Resources) != len(want) || got.Result.NextCursor != "p2" {
			t.Fatalf("%d entries, want %d; next %q, %v", len(got.Result.Resources), len(want), got.Result.NextCursor, err)
		}
		for i, r := range got.Result.Resources {
			w := want[i]
			if !hasTitles(version) {
				w.Annotations = mcp.Annotations{}
			}
			if r != w {
				t.Fatalf("entry %d is %+v, want %+v", i, r, w)
			}
		}
	}
	for round := range 3 {
		for _, version := range []string{mcp.Modern, mcp.Legacy20250326} {
			var frames []*[]byte
			sizes := []int{0, 1, 7, 300, 1000, 5000, 1000, 40}
			for i, n := range sizes { // all at once
				cat.pages["first"] = fakePage{manyEntries(fmt.Sprint(round, "-", i, "-"), n), "p2"}
				frames = append(frames, respond(version))
			}
			for i, n := range sizes {
				check(*frames[i], version, manyEntries(fmt.Sprint(round, "-", i, "-"), n))
				recycle(frames[i])
			}
		}
	}
}

// brokenCatalogue fails in the middle of a page.
type brokenCatalogue struct{ *fakeCatalogue }

func (c brokenCatalogue) List(_ context.Context, _ *string, entry func(*mcp.Resource)) (string, error) {
	for i := range 1000 {
		entry(&mcp.Resource{URI: fmt.Sprintf("test://half/%d", i)})
	}
	return "", context.Canceled
}

// TestNothingIsSaidOfHalfAPage: an error comes alone.
func TestNothingIsSaidOfHalfAPage(t *testing.T) {
	s := NewServer(brokenCatalogue{newFakeCatalogue()}, listen.NewHub(nil), nil)
	for range 2 {
		r := request{modern: true, method: modernMethods["resources/list"], version: mcp.Modern}
		frame, err := s.respond(t.Context(), &r, []byte("before"))
		if err == nil || !strings.HasPrefix(string(frame), `before{"jsonrpc"`) || strings.Contains(string(frame), "half") || !strings.Contains(string(frame), `"error"`) {
			t.Errorf("%v, %.200q", err, frame)
		}
	}
}
