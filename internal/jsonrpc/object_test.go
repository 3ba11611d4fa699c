package jsonrpc

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// An object is searched one way while its members are few, and another way when they are many.
func TestObjectsFindTheirMembers(t *testing.T) {
	for n := range 3 * few {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `,"\u006d%d":%d`, i, i)
		}
		raw := "{" + strings.TrimPrefix(text.String(), ",") + "}"
		o, err := Split([]byte(raw))
		if err != nil {
			t.Fatal(raw, err)
		}
		if !o.Given() || o.Has("m") || o.Has(fmt.Sprint("m", n)) || o.Get("") != nil {
			t.Errorf("%s has what it has not", raw)
		}
		seen := map[string]bool{}
		for name, value := range o.All() {
			if name != "m"+string(value) || string(o.Get(name)) != string(value) {
				t.Errorf("%s: %q is %s", raw, name, value)
			}
			seen[name] = true
		}
		for i := range n {
			if name := fmt.Sprint("m", i); !seen[name] || string(o.Get(name)) != fmt.Sprint(i) {
				t.Errorf("%s: %s is %s", raw, name, o.Get(name))
			}
		}
		if len(seen) != n {
			t.Errorf("%s has %d members", raw, len(seen))
		}
		for i := range n {
			twice := fmt.Sprintf(`%s,"m%d":true}`, strings.TrimSuffix(raw, "}"), i)
			if o, err := Split([]byte(twice)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`"m%d" occurs twice`, i)) || o.Given() {
				t.Errorf("%s: %v", twice, err)
			}
		}
	}
}

func TestTheZeroObjectHasNothing(t *testing.T) {
	var o Object
	if o.Given() || o.Has("a") || o.Get("a") != nil {
		t.Error("it has something")
	}
	for range o.All() {
		t.Error("it has a member")
	}
	if o, err := Split([]byte(" {} ")); err != nil || !o.Given() {
		t.Errorf("one without members is not given: %v", err)
	}
}

// crowded is an object of 4 MB with as many members as fit, in no order.
func crowded() (raw []byte, members int) {
	raw = append(raw, '{')
	for ; len(raw) < 4<<20-20; members++ {
		raw = fmt.Appendf(raw, `"%x":1,`, uint32(members)*2654435761)
	}
	raw[len(raw)-1] = '}'
	return raw, members
}

func TestManyMembersTakeLittleMemory(t *testing.T) {
	raw, members := crowded()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o, err := Split(raw)
	runtime.ReadMemStats(&after)
	if err != nil || string(o.Get("0")) != "1" {
		t.Error(o.Get("0"), err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(members); each > 40 {
		t.Errorf("each of %d members takes %d bytes", members, each)
	}
}

// A message that names its id once has it, however often and in whatever order it names others.
func TestTheIDIsFoundBesideNamesThatOccurTwice(t *testing.T) {
	for _, n := range []int{1, few, 3 * few} {
		raw := `{"z":1,"z":2,"z":3,"a":1,"a":2`
		for i := range n {
			raw += fmt.Sprintf(`,"m%d":0`, i)
		}
		if m, err := Parse([]byte(raw + `,"id":7}`)); err == nil || !strings.Contains(err.Message, "occurs twice") || string(m.ID.Raw()) != "7" {
			t.Errorf("with %d others the id is %s: %v", n, m.ID.Raw(), err)
		}
		if m, _ := Parse([]byte(raw + `,"id":7,"id":8,"id":9}`)); !m.ID.IsZero() {
			t.Errorf("with %d others, of three ids one is %s", n, m.ID.Raw())
		}
	}
}

func BenchmarkSplitMany(b *testing.B) {
	raw, members := crowded()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Split(raw); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(members), "members")
}

func BenchmarkSplit(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Split([]byte(typical)); err != nil {
			b.Fatal(err)
		}
	}
}
