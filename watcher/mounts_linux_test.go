package watcher

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
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
	list := func() []mount {
		t.Helper()
		all, err := table.list()
		if err != nil || !slices.ContainsFunc(all, func(m mount) bool { return m.at == "/" }) {
			t.Errorf("nothing is mounted at /: %q, %v", all, err)
		}
		return all
	}
	before := list()
	if table.changed() {
		t.Error("it has changed since it was read")
	}

	// When there are no more descriptors the one that it has is enough.
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	after := list()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, after) {
		t.Errorf("mounted are %q, and then %q", before, after)
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
