//go:build unix

package resources

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Observed is what an independent walk of the disk found.
type Observed map[string]seen

// ListPage returns a page as a whole.
var ListPage = listPage

// Flags are what a directory is opened with.
type Flags struct{ flags }

// RandomFlags are made for the names that the storms use.
func RandomFlags(r *rand.Rand) Flags { return Flags{randomFlags(r)} }

func (f Flags) Options() *Options { return f.options() }

func Observe(dir string, f Flags) (Observed, error) { return shotOf(dir, f.flags) }

// Files returns the paths that should be listed, sorted.
func (o Observed) Files() []string { return slices.Sorted(maps.Keys(o)) }

// Differing returns the paths that are not the same in both.
func (o Observed) Differing(p Observed) (out []string) {
	for rel := range union(o, p) {
		if o[rel].differs(p[rel]) {
			out = append(out, rel)
		}
	}
	return out
}
