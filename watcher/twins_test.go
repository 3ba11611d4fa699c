package watcher

import (
	"testing"
	"time"
)

// bind puts the directory at one path to another too, as a mount does.
func (l *lab) bind(from, to string) {
	l.Helper()
	_, _, n, err := l.find(l.at(from), false, 0)
	l.must(err)
	dir, name, _, err := l.find(l.at(to), false, 0)
	l.must(err)
	dir.kids[name] = n
}

func TestTwinsAreNamedUnderAllPaths(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true // it would look where the watches are
		l.do("mkdir a; mkdir a/x; write a/x/f; mkdir b; mkdir c; mkdir c/d")
		l.bind("a", "b")
		l.bind("a", "c/d")
	}, func(l *lab) {
		l.watches("", "a", "a/x", "c")
		for _, c := range []struct{ script, want string }{
			{"write a/x/f", "2ms a/x/f:content b/x/f:content c/d/x/f:content"},
			{"write b/g", "2ms a/g:content b/g:content c/d/g:content"},
			{"rm c/d/g", "27ms a/g:structure|settled b/g:structure|settled c/d/g:structure|settled"},
			{"mkdir b/n; write b/n/f", "2ms a/n:content b/n:content c/d/n:content rescan a/n b/n c/d/n"},
			{"write b/n/f", "2ms a/n/f:content b/n/f:content c/d/n/f:content"},
			{"chmod 0 c/d", "2ms a:attribute b:attribute c/d:attribute rescan c/d"},
			{"write ab", "2ms ab:content"},
		} {
			l.hush()
			start := time.Now()
			l.do(c.script)
			l.idle(time.Second)
			l.toldSince(start, c.want)
		}
	})
}

func TestMoved(t *testing.T) {
	for _, c := range []struct{ path, from, to, want string }{
		{"a", "a", "b", "b"},
		{"a/x", "a", "b/c", "b/c/x"},
		{"x/y", "", "b", "b/x/y"}, // the root is mounted below itself
		{"", "", "b", "b"},
		{"ab", "a", "b", "not moved"},
		{"", "a", "b", "not moved"},
	} {
		got, ok := moved(c.path, c.from, c.to)
		if !ok {
			got = "not moved"
		}
		if got != c.want {
			t.Errorf("%q is %q when %q is %q, not %q", c.path, got, c.from, c.to, c.want)
		}
	}
}
