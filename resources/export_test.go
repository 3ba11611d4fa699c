//go:build unix

package resources

import (
	"maps"
	"slices"
)

// Observed is what an independent walk of the disk found.
type Observed map[string]seen

func Observe(dir string) (Observed, error) { return shotOf(dir) }

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
