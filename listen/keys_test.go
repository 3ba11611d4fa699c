package listen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func allKeys(h *listen.Hub, piece int, between func()) (keys []string) {
	for at := -1; at != 0; {
		keys, at = h.Keys(keys, at, piece)
		between()
	}
	return keys
}

func TestKeysAreThoseAskedFor(t *testing.T) {
	h := listen.NewHub(nil)
	if keys := allKeys(h, 2, func() {}); len(keys) > 0 {
		t.Errorf("nobody asks, and there are %q", keys)
	}
	one := open(t, h, "1", uris("a", "b", "c"), &counter{})
	two := open(t, h, "2", uris("b", "c/d"), &counter{})
	want := func(want ...string) {
		t.Helper()
		got := allKeys(h, 2, func() {})
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("keys %q, not %q", got, want)
		}
	}
	want("a", "b", "c", "c/d")
	one.Remove("a")
	want("b", "c", "c/d")
	one.Cancel()
	want("b", "c/d")
	two.Add(listen.Sub{Key: "e", URI: "e"})
	want("b", "c/d", "e")
	two.Cancel()
	want()
}

// TestKeysMissNoneThatStays: while others come and go between the pieces.
func TestKeysMissNoneThatStays(t *testing.T) {
	for _, seed := range seeds(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		h := listen.NewHub(nil)
		var stay, some []string
		for i := range 50 {
			stay = append(stay, fmt.Sprint("stay/", i))
			some = append(some, fmt.Sprint("some/", i))
		}
		s := open(t, h, "1", uris(some...), &counter{})
		open(t, h, "2", uris(stay...), &counter{})
		got := allKeys(h, 7, func() {
			for range r.IntN(20) {
				if key := some[r.IntN(len(some))]; s.Has(key) {
					s.Remove(key)
				} else {
					s.Add(listen.Sub{Key: key, URI: key})
				}
			}
		})
		for _, key := range stay {
			if !slices.Contains(got, key) {
				t.Fatalf("%q is missing; again with -seed %d", key, seed)
			}
		}
	}
}
