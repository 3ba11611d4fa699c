package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// dropRights takes the calling thread's rights over files, if it has any beyond those of a plain user.
func dropRights(t *testing.T) (restore func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	must(t, unix.Setfsuid(65534))
	return func() {
		must(t, unix.Setfsuid(0))
		runtime.UnlockOSThread()
	}
}

func TestListCountsWhatItCannotRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	for _, name := range []string{"a", "locked one/b", "locked two/c", ".locked/d", "open/e"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, nil, 0o644))
	}
	must(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	for _, name := range []string{"locked one", "locked two", ".locked"} {
		name := filepath.Join(dir, name)
		must(t, os.Chmod(name, 0))
		t.Cleanup(func() { must(t, os.Chmod(name, 0o755)) })
	}
	defer dropRights(t)()
	var stdout, stderr bytes.Buffer
	must(t, printList(t.Context(), serving(dir), newPathList, &stdout, newLogger(&stderr, "text", "warn")))
	if got, want := stdout.String(), "a\nopen/e\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	want := `mcp-fsserve: warning: directories cannot be read, so that nothing in them is served count=2 example="locked one" reason="permission denied"` + "\n"
	if got := stderr.String(); got != want {
		t.Errorf("said %s, want %s", got, want)
	}
}
