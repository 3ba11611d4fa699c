package resources

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

func TestBadCursors(t *testing.T) {
	p := serve(t, "a").load()
	good := encodeCursor("test://", "a")
	for _, c := range []string{
		"", "x", "!", good + "A", good[1:], strings.ToLower(good) + "=", encodeCursor("other://", "a"), encodeCursor("test://", "../a"),
		encodeCursor("test://", ""), base64.RawURLEncoding.EncodeToString([]byte("\x01abcda")),
	} {
		if _, err := listPage(context.Background(), p.cat, &c); !errors.Is(err, mcp.ErrBadCursor) {
			t.Errorf("%q: %v", c, err)
		}
	}
	if page, err := listPage(context.Background(), p.cat, &good); err != nil || len(page.Resources) != 0 {
		t.Errorf("a good one: %+v, %v", page, err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("a", "x")
	f.Add("d/é/\xff", encodeCursor("test://", "a"))
	f.Add("a", strings.Replace(encodeCursor("test://", "a"), "p", "\np", 1))
	f.Fuzz(func(t *testing.T, rel, cursor string) {
		if plainPath(rel) {
			if _, got, err := decodeCursor(encodeCursor("test://", rel), []string{"other://", "test://"}); err != nil || got != rel {
				t.Errorf("%q gives %q, %v", rel, got, err)
			}
		}
		if _, got, err := decodeCursor(cursor, []string{"test://"}); err == nil && encodeCursor("test://", got) != cursor {
			t.Errorf("%q is taken for %q", cursor, got)
		}
	})
}

// TestPagesShowWhatPersists: whatever comes and goes while a client walks the pages, it sees each file that exists
// throughout exactly once.
func TestPagesShowWhatPersists(t *testing.T) {
	p := serve(t)
	var lasting []string
	for _, d := range []string{"", "b/", "b/c/", "d/", "z/"} {
		for i := range 23 {
			name := fmt.Sprintf("%sf%02d", d, i)
			lasting = append(lasting, name)
			p.write(name, "x")
		}
	}
	p.paged(7)
	p.watch()
	var got []string
	var cursor *string
	for n := 0; ; n++ {
		page, err := listPage(context.Background(), p.cat, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Resources {
			got = append(got, strings.TrimPrefix(r.URI, "test://"))
		}
		if page.NextCursor == "" {
			break
		}
		cursor = &page.NextCursor
		last := got[len(got)-1]
		changed := []string{}
		// before and behind the cursor, and where it stands; files and whole directories
		for _, name := range []string{"a" + fmt.Sprint(n), last + "0", "b/f00" + fmt.Sprint(n), "b/aa/f" + fmt.Sprint(n), "z/y/f" + fmt.Sprint(n)} {
			p.write(name, "x")
			changed = append(changed, name)
		}
		if n > 0 {
			for _, name := range []string{fmt.Sprintf("a%d", n-1), "b/aa", "z/y"} {
				p.remove(name)
				changed = append(changed, name)
			}
		}
		p.Apply(dirty(cont|str, changed...))
	}
	seen := map[string]int{}
	for _, name := range got {
		seen[name]++
	}
	for _, name := range lasting {
		if seen[name] != 1 {
			t.Errorf("%s was seen %d times", name, seen[name])
		}
	}
}

func TestCursorOfAFileThatWent(t *testing.T) {
	p := serve(t, "a", "b", "c", "d/x", "d/y", "e/x")
	p.paged(2)
	p.load()
	walk := func(gone string) []string {
		cursor := encodeCursor("test://", gone)
		page, err := listPage(context.Background(), p.cat, &cursor)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range page.Resources {
			out = append(out, strings.TrimPrefix(r.URI, "test://"))
		}
		return out
	}
	for after, want := range map[string][]string{
		"aa": {"b", "c"}, "c": {"d/x", "d/y"}, "d/xx": {"d/y", "e/x"}, "cc/x": {"d/x", "d/y"}, "d/e/f": {"e/x"}, "z": {"d/x", "d/y"}, "dd/x": {"e/x"},
	} {
		if got := walk(after); !slices.Equal(got, want) {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
	}
}
