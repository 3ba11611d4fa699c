package listen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// pointers counts what in a type a garbage collector has to follow.
func pointers(t reflect.Type) (n int) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			n += pointers(t.Field(i).Type)
		}
	case reflect.Array:
		n = t.Len() * pointers(t.Elem())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		n = 1
	}
	return n
}

// TestSubscriptionsHaveNoPointers, or each request beside many of them would pay for garbage collections that follow those. What
// there is of each URI of each stream is small, too.
func TestSubscriptionsHaveNoPointers(t *testing.T) {
	for v, most := range map[any]uintptr{item{}: 40, entry{}: 28} {
		of := reflect.TypeOf(v)
		if n := pointers(of); n > 0 {
			t.Errorf("%v has %d pointers", of, n)
		}
		if of.Size() > most {
			t.Errorf("%v has %d bytes, want %d", of, of.Size(), most)
		}
	}
	if n := pointers(reflect.TypeFor[struct {
		a [2]string
		b map[int]int
	}]()); n != 3 {
		t.Errorf("counted %d pointers, not 3", n)
	}
}

// idle is a carrier of a stream that is asked without being woken.
type idle struct{}

func (idle) Wake(*Stream) {}

// TestSubscriptionsComeAndGo, many at a time, in any order, with several keys each: the stream knows those that are there, is told of
// each of their keys, and what went leaves its room to what comes.
func TestSubscriptionsComeAndGo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := NewHub(&Options{UpdateInterval: -1, ListInterval: -1})
	const most = 40
	name := func() string { return fmt.Sprintf("u%d", random.IntN(most)) }
	first := []Sub{{Key: "k0", URI: "u0"}, {Key: "k1", URI: "u0"}, {Key: "k1", URI: "u1"}, {Key: "k2", URI: "u2"}}
	want := map[string]map[string]bool{"u0": {"k0": true, "k1": true}, "u1": {"k1": true}, "u2": {"k2": true}}
	s, err := h.Open(nil, Filter{ResourcesListChanged: true}, first, idle{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 20_000 {
		uri, key := name(), fmt.Sprintf("k%d", random.IntN(3*most))
		switch random.IntN(5) {
		case 0, 1:
			s.Add(Sub{Key: key, URI: uri})
			if want[uri] == nil {
				want[uri] = map[string]bool{}
			}
			want[uri][key] = true
		case 2, 3:
			s.Remove(uri)
			delete(want, uri)
		default:
			h.Publish(Change{Keys: []string{key}})
			var told, due []string
			for {
				frame, _ := s.Next(nil, time.Now())
				if frame == nil {
					break
				}
				_, after, _ := strings.Cut(string(frame), `"uri":"`)
				said, _, _ := strings.Cut(after, `"`)
				told = append(told, said)
			}
			for uri, keys := range want {
				if keys[key] {
					due = append(due, uri)
				}
			}
			slices.Sort(told)
			if slices.Sort(due); !slices.Equal(told, due) {
				t.Fatalf("step %d: %s changed, and told of is %q, want %q", step, key, told, due)
			}
		}
		if uri := name(); s.Has(uri) != (want[uri] != nil) || s.URIs() != len(want) {
			t.Fatalf("step %d: %s is there: %v; %d URIs, want %d", step, uri, s.Has(uri), s.URIs(), len(want))
		}
	}
	if n := len(s.items); n > 1+most {
		t.Errorf("there is room for %d items, and were never more than %d", n, 1+most)
	}
	if n := len(s.added); n > 1+most {
		t.Errorf("there is room for %d URIs, and were never more than %d", n, most)
	}
	if n := len(h.index.keys); n > 3*most {
		t.Errorf("there is room for %d keys, and were never more than %d", n, 3*most)
	}
	keys := map[string]bool{}
	for _, of := range want {
		maps.Copy(keys, of)
	}
	got, _ := h.Keys(nil, -1, 1000)
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	entries := 1
	for _, of := range want {
		entries += len(of)
	}
	idle := 0
	for e := s.freeEntry; !e.none(); e = s.entries[e.index()].sibling {
		idle++
	}
	if len(s.entries)-idle != entries {
		t.Errorf("%d entries are used, want %d", len(s.entries)-idle, entries)
	}
}

// TestStreamsComeAndGo: what went leaves its place to what comes.
func TestStreamsComeAndGo(t *testing.T) {
	h := NewHub(nil)
	subs := []Sub{{Key: "k", URI: "k"}}
	stays, err := h.Open(nil, Filter{}, subs, idle{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		var some []*Stream
		for range 3 {
			s, err := h.Open(nil, Filter{}, subs, idle{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			some = append(some, s)
		}
		for _, s := range some {
			s.Cancel()
		}
	}
	if n := len(h.index.streams); n > 4 || h.Len() != 1 {
		t.Errorf("%d places for %d streams", n, h.Len())
	}
	if h.Publish(Change{Keys: []string{"k"}}); len(stays.dirty) != 1 {
		t.Error("the one that stays is told of nothing")
	}
}

// TestDirtySetIsInOrder: whatever is put in and taken out, the first comes first.
func TestDirtySetIsInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	items := make([]item, 100)
	var d dirtySet
	in := map[int32]bool{}
	for step := range 50_000 {
		i := int32(random.IntN(len(items)))
		switch {
		case random.IntN(4) == 0 && len(in) > 0:
			first := slices.MinFunc(slices.Collect(maps.Keys(in)), func(a, b int32) int {
				if items[a].before(&items[b]) {
					return -1
				}
				return 1
			})
			if got := d.first(items); got != first {
				t.Fatalf("step %d: %d is first, want %d", step, got, first)
			}
			delete(in, first)
		case in[i]:
			d.remove(items, i)
			delete(in, i)
		default:
			items[i].due, items[i].turn = moment(random.IntN(20)), uint64(step)
			d.add(items, i)
			in[i] = true
		}
		for i := range items {
			if (items[i].slot > 0) != in[int32(i)] || items[i].slot > 0 && d[items[i].slot-1] != int32(i) {
				t.Fatalf("step %d: item %d is at %d", step, i, items[i].slot)
			}
		}
	}
}

// TestWhatIsSaidLeavesNoRoomBehind: a stream that once owed much, and named what changed, is as small as before when it has said it.
func TestWhatIsSaidLeavesNoRoomBehind(t *testing.T) {
	h := NewHub(&Options{UpdateInterval: -1, ChangedMeta: "changed"})
	var subs []Sub
	var changed []string
	for i := range 100 {
		dir := fmt.Sprintf("dir%d", i)
		subs = append(subs, Sub{Key: dir, URI: dir})
		changed = append(changed, dir+"/a")
	}
	s, err := h.Open(nil, Filter{}, subs, idle{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Publish(Change{Keys: changed})
	if len(s.changed) != len(subs) {
		t.Fatalf("it owes %d, want %d", len(s.changed), len(subs))
	}
	said := 0
	for frame, _ := s.Next(nil, time.Now()); frame != nil; frame, _ = s.Next(nil, time.Now()) {
		said++
	}
	if said != len(subs) || s.dirty != nil || s.changed != nil {
		t.Errorf("it has said %d and keeps %d and %d", said, cap(s.dirty), len(s.changed))
	}
}
