package watcher

import (
	"slices"
	"testing"
)

func TestMountTableIsParsed(t *testing.T) {
	got := parseMounts([]byte(`22 27 0:21 / /proc rw,relatime - proc proc rw
36 35 98:0 /mnt1\040x /mnt/with\040space\134and\011tab\012 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
short line

`))
	want := []mount{
		{"/proc", "22 27 0:21 /"},
		{"/mnt/with space\\and\ttab\n", `36 35 98:0 /mnt1\040x`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestMountTableOfThisProcess: it is there, names a root, and has not changed just because it was read.
func TestMountTableOfThisProcess(t *testing.T) {
	table := openMounts()
	if table == nil {
		t.Fatal("no mount table")
	}
	defer table.close()
	table.changed()
	if !slices.ContainsFunc(table.list(), func(m mount) bool { return m.at == "/" }) {
		t.Errorf("nothing is mounted at /: %q", table.list())
	}
}

func TestConcerns(t *testing.T) {
	for _, c := range []struct{ root, at, want string }{
		{"/srv/docs", "/srv/docs", "."},
		{"/srv/docs", "/srv/docs/a b/c", "a b/c"},
		{"/srv/docs", "/srv", "."},
		{"/srv/docs", "/", "."},
		{"/srv/docs", "/srv/docs2", ""},
		{"/srv/docs", "/srv/doc", ""},
		{"/", "/", "."},
		{"/", "/srv", "srv"},
	} {
		path, ok := concerns(newRoot(c.root), c.at)
		got := ""
		if ok {
			got = name(path)
		}
		if got != c.want {
			t.Errorf("a mount at %s concerns %q of %s, not %q", c.at, got, c.root, c.want)
		}
	}
}
