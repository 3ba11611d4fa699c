package main

import "testing"

func TestDistanceCountsLetters(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"include", "include", 0}, {"include", "inclued", 2}, {"include", "includ", 1}, {"ttl", "ttls", 1},
		{"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// TestEveryFlagIsFoundByItsNeighbours: a letter too few, too many or wrong, or one dash, still leads to the flag.
func TestEveryFlagIsFoundByItsNeighbours(t *testing.T) {
	root := (&program{settings: defaults()}).command()
	for _, name := range []string{"include", "exclude", "unhide", "hidden", "no-ignore", "max-size", "uri-base", "log-level"} {
		for _, typed := range []string{name[1:], name + "s", name[:2] + "_" + name[3:], name[:4]} {
			found := false
			for _, near := range nearFlags(root.Flags(), typed) {
				found = found || near == "--"+name
			}
			for _, near := range nearFlags(root.PersistentFlags(), typed) {
				found = found || near == "--"+name
			}
			if !found {
				t.Errorf("--%s does not lead to --%s", typed, name)
			}
		}
	}
}
