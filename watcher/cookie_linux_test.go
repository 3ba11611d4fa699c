package watcher

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCookie: the kernel says it after the events of every directory, and it shows in no list.
func TestCookie(t *testing.T) {
	src, err := newFsnotify()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	if err := src.Add(dir); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		select {
		case e := <-src.Events():
			return e.Name
		case <-time.After(deadline):
			t.Fatal("no event comes")
			return ""
		}
	}
	names := map[string]bool{}
	for i := range 4 {
		name, err := src.Cookie(i%2 == 1)
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
		file := filepath.Join(dir, "f")
		if err := os.Mkdir(file, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := src.Mark(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{file, name, file} {
			if got := said(); got != want {
				t.Errorf("event for %s, not %s", got, want)
			}
		}
		if got := src.List(); len(got) != 1 || got[0] != dir {
			t.Errorf("watched are %q", got)
		}
	}
	if len(names) < 2 {
		t.Errorf("the cookies are called %v", names)
	}
}
