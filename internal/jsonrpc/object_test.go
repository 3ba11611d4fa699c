package jsonrpc

import (
	"fmt"
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
		at := 0
		for name, value := range o.All() {
			if name != fmt.Sprint("m", at) || string(value) != fmt.Sprint(at) || string(o.Get(name)) != string(value) {
				t.Errorf("%s: member %d is %q: %s", raw, at, name, value)
			}
			at++
		}
		if at != n {
			t.Errorf("%s has %d members", raw, at)
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

func BenchmarkSplit(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Split([]byte(typical)); err != nil {
			b.Fatal(err)
		}
	}
}
