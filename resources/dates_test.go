package resources

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestDatesAreThoseOfTheTimePackage, whichever came before.
func TestDatesAreThoseOfTheTimePackage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seconds := []int64{0, 0, -1, 0, 1, 86399, 86400, -86400, -86401, 0, yearZero, yearZero + 1, year10000 - 1, year10000 - 86400, 951782400, 951782399, 4107542400}
	for range 2000 {
		at := random.Int64N(year10000-yearZero) + yearZero
		for range 4 {
			if at += random.Int64N(5) * random.Int64N(30_000); at < year10000 {
				seconds = append(seconds, at)
			}
		}
	}
	var d dates
	var in arena
	for i, second := range seconds {
		want := time.Unix(second, 0).UTC().Format(time.RFC3339)
		if got := d.text(second, &in); got != want {
			t.Fatalf("%d: the date of %d is %q, want %q", i, second, got, want)
		}
		for _, beyond := range []int64{yearZero - 1, year10000, 1 << 62, -1 << 62} {
			if got := d.text(beyond, &in); got != "" {
				t.Fatalf("the date of %d is %q", beyond, got)
			}
		}
	}
}
