package resources

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func namesOf(files []*file) (out []string) {
	for _, f := range files {
		out = append(out, f.name)
	}
	return out
}

// TestRollIsASortedList: whatever comes and goes, a few names at a time or thousands, also all.
func TestRollIsASortedList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var r roll[*file]
	held := map[string]*file{}
	for step := range 300 {
		before, was := r, namesOf(r.list())
		changes := map[string]*file{}
		going, sparse := random.IntN(2) == 0, random.IntN(3)
		for range []int{1, 40, 3000}[sparse] {
			name := fmt.Sprint(random.IntN(6000))
			if going {
				changes[name] = nil
			} else {
				changes[name] = &file{name: name}
			}
		}
		if step%50 == 49 {
			for name := range held {
				changes[name] = nil
			}
		}
		r = r.with(changes)
		for name, f := range changes {
			if f == nil {
				delete(held, name)
			} else {
				held[name] = f
			}
		}
		want := slices.Sorted(maps.Keys(held))
		if got := namesOf(r.list()); !slices.Equal(got, want) || r.len() != len(want) {
			t.Fatalf("step %d: %d, %q\nwant %q", step, r.len(), got, want)
		}
		if !slices.Equal(namesOf(before.list()), was) {
			t.Fatalf("step %d: what readers hold was edited", step)
		}
		for i := range len(want) {
			if i%7 > 0 && i < len(want)-1 {
				continue
			}
			if r.at(i) != held[want[i]] || r.find(want[i]) != held[want[i]] {
				t.Fatalf("step %d: another file is number %d or called %s", step, i, want[i])
			}
		}
		i := random.IntN(len(want) + 1)
		if got := namesOf(slices.Collect(r.from(i))); !slices.Equal(got, want[i:]) {
			t.Fatalf("step %d: from %d: %q\nwant %q", step, i, got, want[i:])
		}
		for range 20 {
			name := fmt.Sprint(random.IntN(6000))
			i, found := r.search(name)
			if j, ok := slices.BinarySearch(want, name); i != j || found != ok || (r.find(name) != nil) != ok {
				t.Fatalf("step %d: %s is number %d, %v; want %d, %v", step, name, i, found, j, ok)
			}
		}
		for k, p := range r.pieces {
			if n := len(p.list); n == 0 || n > 2*pieceLen {
				t.Fatalf("step %d: piece %d of %d has %d entries", step, k, len(r.pieces), n)
			}
		}
	}
}

// TestRollsHaveFewPieces: also when nearly all went, one after the other, in any order.
func TestRollsHaveFewPieces(t *testing.T) {
	var all []*file
	for i := range 20_000 {
		all = append(all, &file{name: fmt.Sprintf("%06d", i)})
	}
	r := rollOf(all)
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(len(all))[:19_000] {
		r = r.with(map[string]*file{all[i].name: nil})
	}
	if r.len() != 1000 || len(r.pieces) > 10 {
		t.Errorf("%d files in %d pieces", r.len(), len(r.pieces))
	}
}

// TestAChangeCopiesLittle: what of 200,000 names a change copies is a few thousandths.
func TestAChangeCopiesLittle(t *testing.T) {
	var all []*file
	for i := range 200_000 {
		all = append(all, &file{name: fmt.Sprintf("%06d", i)})
	}
	r := rollOf(all)
	for _, c := range []map[string]*file{
		{"100000": nil}, {"100000x": {name: "100000x"}}, {"": {}}, {strings.Repeat("9", 7): {name: strings.Repeat("9", 7)}},
		{"000000": nil, "199999": nil},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r.with(c)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 40<<10 {
			t.Errorf("%d bytes for %v", took, c)
		}
	}
}
