//go:build linux && mounts

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMountedRootIsServed mounts. Run it in a mount namespace of its own: unshare -Urm go test -tags mounts -run Mounted .
// Whatever a client has asked for, the file system can be unmounted, and what is there then is served.
func TestMountedRootIsServed(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "under"), []byte("of the disk"), 0o644))
	fill := func(name string) {
		t.Helper()
		must(t, unix.Mount("none", dir, "tmpfs", 0, ""))
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "d", name), []byte(name), 0o644))
		must(t, os.Symlink("d/"+name, filepath.Join(dir, "link")))
	}
	fill("first")
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })

	s := startSession(t, "mcp-fsserve", dir)
	base := "file://" + dir + "/"
	s.send("subscriptions/listen", map[string]any{"notifications": map[string]any{
		"resourcesListChanged": true, "resourceSubscriptions": []string{base}}})
	if m := s.notification(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("the server sent %+v", m)
	}
	lists := func(text map[string]string) {
		t.Helper()
		for {
			entries, _ := s.walk()
			var got []string
			for _, e := range entries {
				got = append(got, e.Name)
			}
			var want []string
			for name := range text {
				want = append(want, name)
			}
			slices.Sort(got)
			slices.Sort(want)
			if slices.Equal(got, want) {
				break
			}
			for s.notification().Method != "notifications/resources/list_changed" {
			}
		}
		for name, want := range text {
			if got := s.read(base + name); got != want {
				t.Errorf("%s is %q, not %q", name, got, want)
			}
		}
	}
	unmount := func() {
		t.Helper()
		for give := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // it may be walked at this moment
			err := unix.Unmount(dir, 0)
			if err == nil {
				return
			}
			if err != unix.EBUSY || time.Now().After(give) {
				t.Fatal(err)
			}
		}
	}

	lists(map[string]string{"d/first": "first", "link": "first"})
	unmount()
	lists(map[string]string{"under": "of the disk"})
	fill("second")
	lists(map[string]string{"d/second": "second", "link": "second"})
	unmount()
	fill("third") // all numbers as before
	lists(map[string]string{"d/third": "third", "link": "third"})
	unmount()
	lists(map[string]string{"under": "of the disk"})
	s.end()
}
