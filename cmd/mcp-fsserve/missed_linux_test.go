package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestListCountsWhatItCannotRead runs the program as a user that has no rights over files beyond those of a plain one.
func TestListCountsWhatItCannotRead(t *testing.T) {
	work := t.TempDir()
	dir := filepath.Join(work, "tree")
	for _, name := range []string{"a", "locked one/b", "locked two/c", ".locked/d", "open/e"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, nil, 0o644))
	}
	must(t, os.Chmod(filepath.Dir(work), 0o755))
	must(t, os.Chmod(work, 0o755))
	for _, name := range []string{"locked one", "locked two", ".locked"} {
		name := filepath.Join(dir, name)
		must(t, os.Chmod(name, 0))
		t.Cleanup(func() { must(t, os.Chmod(name, 0o755)) })
	}
	for _, c := range []struct {
		dirs           []string
		paths, example string
	}{
		{[]string{dir}, "a\nopen/e\n", "locked one"},
		{[]string{filepath.Join(dir, "open"), "all=" + dir}, "open/e\nall/a\n", "all/locked one"},
	} {
		cmd := asPlainUser(t, work, slices.Concat([]string{"list", "--paths"}, c.dirs)...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		must(t, cmd.Run())
		if got := stdout.String(); got != c.paths {
			t.Errorf("printed %q, want %q", got, c.paths)
		}
		want := `mcp-fsserve: warning: directories cannot be read, so that nothing in them is served count=2 example="` + c.example + `" reason="permission denied"` + "\n"
		if got := stderr.String(); got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	}
}

// asPlainUser is a command that runs this program, out of a copy that others can reach, as nobody if root runs the tests.
func asPlainUser(t *testing.T, work string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	copied := filepath.Join(work, "mcp-fsserve") // TestMain goes by the name
	must(t, os.WriteFile(copied, program, 0o755))
	cmd := exec.Command(copied, args...)
	cmd.Dir = work
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return cmd
}
