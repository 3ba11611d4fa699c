package resources

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

func TestComplete(t *testing.T) {
	p := serve(t, "a", "a b", "a%20b", "a%zz", "a<b", "apple/x", "apple/y z", "ab/", "b", "my docs/in/a&b", "é", "50%", "A",
		"d%2Fe/x", "%2e%2e/x", ".hidden", ".git/x", "ignored/x", "key.pem")
	p.write(".gitignore", "ignored\n")
	p.load()
	all := []string{"50%25", "A", "a", "a%20b", "a%2520b", "a%25zz", "a%3Cb", "b", "%C3%A9",
		"%252e%252e/", "ab/", "apple/", "d%252Fe/", "my%20docs/"}
	for value, want := range map[string][]string{
		"":               all,
		"a":              {"a", "a%20b", "a%2520b", "a%25zz", "a%3Cb", "ab/", "apple/"},
		"ab":             {"ab/"},
		"apple":          {"apple/"},
		"apple/":         {"apple/x", "apple/y%20z"},
		"apple/y":        {"apple/y%20z"},
		"apple/y%20":     {"apple/y%20z"},
		"apple/y z":      {"apple/y%20z"},
		"app%6Ce/%78":    {"apple/x"},
		"my docs/":       {"my%20docs/in/"},
		"my%20docs/in/a": {"my%20docs/in/a&b"},
		"my%20d":         {"my%20docs/"},
		"a%20":           {"a%20b"},
		"a%20b":          {"a%20b"},
		"a%2520":         {"a%2520b"},
		"a%2":            {"a%20b", "a%2520b", "a%25zz"},
		"a%":             {"a%20b", "a%2520b", "a%25zz", "a%3Cb"},
		"a%3":            {"a%3Cb"},
		"a%3c":           {"a%3Cb"},
		"a%z":            {"a%25zz"},
		"a%25":           {"a%2520b", "a%25zz"},
		"%":              {"%C3%A9", "%252e%252e/"},
		"%c":             {"%C3%A9"},
		"%C3":            {"%C3%A9"},
		"é":              {"%C3%A9"},
		"50":             {"50%25"},
		"d%2Fe/":         {"d%252Fe/x"}, // an escaped slash is refused, so it is meant to the letter
		"%2e%2e/":        {"%252e%252e/x"},
		"b/":             {},
		"none/":          {},
		"none":           {},
		"/":              {},
		"/a":             {},
		"apple//":        {},
		"./":             {},
		"../":            {},
		"apple/../":      {},
		"apple/./x":      {},
		"a\x00":          {},
		".h":             {},
		".git/":          {},
		"ignored":        {},
		"ignored/":       {},
		"key":            {},
		"\xff":           {},
	} {
		got, err := p.cat.Complete(t.Context(), "test://{+path}", value)
		if err != nil || !slices.Equal(got.Values, want) {
			t.Errorf("%q: %q, %v, want %q", value, got.Values, err, want)
		}
		if got.Values == nil || got.Total != len(got.Values) || got.HasMore {
			t.Errorf("%q: %+v", value, got)
		}
	}
	for _, template := range []string{"", "test://", "test://{path}", "file:///{+path}", "test://x/{+path}"} {
		if _, err := p.cat.Complete(t.Context(), template, ""); !errors.Is(err, mcp.ErrUnknownTemplate) {
			t.Errorf("%q: %v", template, err)
		}
	}
}

// What is completed can be read, or completed on.
func TestWhatIsCompletedIsThere(t *testing.T) {
	p := serve(t, "a&b", "a b/c?d", "a b/%41", "a b/e/f", "\xff/x").load()
	var visit func(value string)
	read := 0
	visit = func(value string) {
		got, err := p.cat.Complete(t.Context(), "test://{+path}", value)
		p.must(err)
		for _, v := range got.Values {
			if strings.HasSuffix(v, "/") {
				visit(v)
			} else if _, err := p.read(v); err != nil {
				t.Errorf("%q: %v", v, err)
			} else {
				read++
			}
		}
	}
	if visit(""); read != 5 {
		t.Errorf("%d files were read", read)
	}
}

// TestLongValuesTakeNoMemory: a value may be as long as a line.
func TestLongValuesTakeNoMemory(t *testing.T) {
	p := serve(t, "a/b").load()
	for _, start := range []string{"", "a/", "a/b/"} {
		var before, after runtime.MemStats
		value := start + strings.Repeat("a", 4<<20) + "%"
		runtime.ReadMemStats(&before)
		got, err := p.cat.Complete(t.Context(), "test://{+path}", value)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err != nil || got.Total != 0 || took > 64<<10 {
			t.Errorf("%q: %d bytes, %+v, %v", start, took, got, err)
		}
	}
}

func TestCompletionsBeyond100(t *testing.T) {
	p := serve(t)
	for i := range 90 {
		p.make(fmt.Sprintf("x f%02d", i), fmt.Sprintf("x d%02d/", i))
	}
	p.load()
	for value, want := range map[string]int{"": 180, "x%20": 180, "x%2": 180, "x f": 90, "x d0": 10, "x f8": 10, "x%20d": 90} {
		got, err := p.cat.Complete(t.Context(), "test://{+path}", value)
		if err != nil || got.Total != want || len(got.Values) != min(want, 100) || got.HasMore != (want > 100) {
			t.Errorf("%q: %d of %d, more %v, %v", value, len(got.Values), got.Total, got.HasMore, err)
		}
	}
	got, err := p.cat.Complete(t.Context(), "test://{+path}", "x")
	if err != nil || got.Values[89] != "x%20f89" || got.Values[90] != "x%20d00/" {
		t.Errorf("%q, %v", got.Values, err)
	}
}

// FuzzComplete compares with going through all names.
func FuzzComplete(f *testing.F) {
	for _, v := range []string{"", "a", "a%", "a%2", "a%20", "%", "%f", "%ff", "\xff", "\xff\xff", "a%25", "%zz", "a%2z", "%%", "%2%"} {
		f.Add(v, "a\x00a b\x00a%\x00a%2\x00a%25\x00\xff\xff\x00\xff\x00%\x00%2%\x00é")
	}
	f.Fuzz(func(t *testing.T, value, names string) {
		if strings.ContainsAny(value, "/\x00") {
			return
		}
		list := slices.Compact(slices.Sorted(strings.SplitSeq(strings.ReplaceAll(names, "/", ""), "\x00")))
		var got []string
		for _, s := range beginnings(value) {
			i, j := spread(0, len(list), func(i int) string { return list[i] }, s)
			got = append(got, list[i:j]...)
		}
		if want := slices.DeleteFunc(list, func(name string) bool { return !beginsWith(name, value) }); !slices.Equal(got, want) {
			t.Errorf("%q of %q: %q, want %q", value, names, got, want)
		}
	})
}

// beginsWith: value is the beginning of some spelling of name: decoded, or half an escape of a byte that must be escaped.
func beginsWith(name, value string) bool {
	if strings.HasPrefix(name, unescape(value)) {
		return true
	}
	i := strings.LastIndexByte(value, '%')
	if i < 0 || len(value)-i > 2 {
		return false
	}
	rest, ok := strings.CutPrefix(name, unescape(value[:i]))
	return ok && rest != "" && !literal[rest[0]] && strings.HasPrefix(fmt.Sprintf("%%%02X", rest[0]), strings.ToUpper(value[i:]))
}

func TestCompleteWaitsForLoad(t *testing.T) {
	p := serve(t, "d/e/f")
	p.open(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.cat.Complete(ctx, "test://{+path}", "d/e/"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	asked := make(chan mcp.Completion)
	go func() {
		got, err := p.cat.Complete(t.Context(), "test://{+path}", "d/e/")
		if err != nil {
			t.Error(err)
		}
		asked <- got
	}()
	p.load()
	if got := <-asked; !slices.Equal(got.Values, []string{"d/e/f"}) {
		t.Errorf("%+v", got)
	}
}

func TestCompleteInSeveralRoots(t *testing.T) {
	p := serve(t, "a/in/x", "a/other", "b/y")
	roots := p.mustOpenRoots(&Options{Base: "test://"}, "a", "a/in", "b", "none")
	cat := NewCatalogue(nil, roots...)
	walkAll(t, cat)
	for template, want := range map[string][]string{
		"test://a/{+path}": {"other"}, "test://in/{+path}": {"x"}, "test://b/{+path}": {"y"}, "test://none/{+path}": {},
	} {
		if got, err := cat.Complete(t.Context(), template, ""); err != nil || !slices.Equal(got.Values, want) {
			t.Errorf("%s: %q, %v", template, got.Values, err)
		}
	}
}

// A large directory costs a completion no more than a small one.
func BenchmarkComplete(b *testing.B) {
	for _, n := range []int{200, 200000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			files := make([]*file, n)
			for i := range files {
				files[i] = &file{name: fmt.Sprintf("f%06d", i)}
			}
			d := &dir{loaded: true, files: rollOf(files)}
			p := serve(b)
			p.tree = d
			b.ReportAllocs()
			for b.Loop() {
				if got, err := p.cat.Complete(b.Context(), "test://{+path}", "f0001"); err != nil || len(got.Values) != 100 {
					b.Fatal(got, err)
				}
			}
		})
	}
}
