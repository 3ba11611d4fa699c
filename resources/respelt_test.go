package resources

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRespellsMixesEscapesAndLetters(t *testing.T) {
	for _, test := range []struct {
		seg, name string
		want      bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a", "ab", false}, {"ab", "a", false}, {"", "", true},
		{"a%20b", "a b", true}, {"a%20b", "a%20b", true}, {"%20%20", "%20 ", true}, {"%20%20", " %20", true},
		{"a%20%41", "a %41", true}, {"a%20%41", "a A", true}, {"a%20%41", "a%20A", true}, {"a%20%41", "a %42", false},
		{"a%2050%25", "a 50%25", true}, {"a%2050%25", "a 50%", true}, {"%2", "%2", true}, {"%", "%", true}, {"%", " ", false},
		{"%c3%A9", "é", true}, {"%C3%A9%20", "%C3%A9 ", true}, {"%zz%20", "%zz ", true},
	} {
		if got := respells(test.seg, test.name); got != test.want {
			t.Errorf("respells(%q, %q) = %t", test.seg, test.name, got)
		}
	}
}

// TestRespellingsLookAtFewNames: whatever a client sends, and however many files there are.
func TestRespellingsLookAtFewNames(t *testing.T) {
	var names []string
	for i := range 100_000 {
		names = append(names, fmt.Sprintf("%%%02X a%%%02X%05d", i/400, i/400, i))
	}
	slices.Sort(names)
	seen := 0
	look := func(i int) string { seen++; return names[i] }
	for _, seg := range []string{
		"%25", "%2541%20a", "%41", "%25%34%31%20%61%2541", strings.Repeat("%25", 100_000), strings.Repeat("%2525", 100_000), names[5], escape(names[5]),
	} {
		if seen = 0; len(respellings(0, len(names), look, 0, seg)) > 1 || seen > 1000 {
			t.Errorf("looked at %d names for %.20s", seen, seg)
		}
	}
}

// TestMixedSpellingsAreReadAndResolved: what has some escapes and some to the letter is found if nothing has the plain
// meanings, whichever segment they are in.
func TestMixedSpellingsAreReadAndResolved(t *testing.T) {
	p := serve(t, "a %41.md", "my notes/%41.md", "b %42.md", "b B.md", ".x %41.md").load()
	for spelling, name := range map[string]string{
		"a%20%41.md": "a %41.md", "a%20%2541.md": "a %41.md", "my%20notes/%41.md": "my notes/%41.md", "b%20%42.md": "b B.md",
	} {
		p.wantText(spelling, "content of "+name)
		if keys, err := p.cat.Resolve("test://" + spelling); err != nil || !slices.Contains(keys, p.Root.base.key(name)) {
			t.Errorf("%s means %q, %v", spelling, keys, err)
		}
	}
	p.wantAbsent("a%20%42.md", "%2Ex%20%41.md", ".x%20%41.md", "my%20notes/%41.md/", "my%20notes/%41.md/x")
}

// TestMixedSpellingOfTheBase: the directory's own path is rewritten like what is in it.
func TestMixedSpellingOfTheBase(t *testing.T) {
	b := newBase("file:///srv/my%20%2541%20dir/")
	for uri, want := range map[string]bool{
		"file:///srv/my%20%41%20dir/a": true, "file:///srv/my%20%2541%20dir/a": true, "file:///srv/my%20A%20dir/a": false, "file:///srv/my%20%42%20dir/a": false,
	} {
		if got := b.parse(uri); (len(got) > 0) != want {
			t.Errorf("%s means %+v", uri, got)
		}
	}
}
