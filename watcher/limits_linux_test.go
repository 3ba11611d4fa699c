//go:build limits

package watcher

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLimits runs the watcher where the kernel grants few watches, or no instance: in a user namespace, which has limits of its
// own. Everything is polled that cannot be watched, which is said once, and watched when it can be.
func TestLimits(t *testing.T) {
	const inside = "WATCHER_LIMITS"
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestLimits$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestLimits/instances")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	t.Run("watches", func(t *testing.T) { playLimits(t, "max_inotify_watches", 5, watchCure, 12-4) }) // the mark has one of them
	t.Run("instances", func(t *testing.T) { playLimits(t, "max_inotify_instances", 0, instanceCure, 12) })
}

func playLimits(t *testing.T, limit string, few int, cure string, polled int) {
	set := func(n int) {
		t.Helper()
		if err := os.WriteFile("/proc/sys/user/"+limit, fmt.Append(nil, n), 0); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for i := range 11 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("d", i)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write := func() {
		t.Helper()
		for i := range 11 {
			path := filepath.Join(dir, fmt.Sprint("d", i), "f")
			if err := os.WriteFile(path, fmt.Append(nil, time.Now()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	var log logBuffer
	set(few)
	r := start(t, dir, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil)
	eventually(t, func() string {
		if n := r.Polled(); n != polled {
			return fmt.Sprintf("%d are polled, not %d", n, polled)
		}
		return ""
	})
	for range 3 {
		write()
		r.settled(t, false)
	}
	set(100)
	if n, ok := kernelWatches(); !ok || n != 12-polled {
		t.Errorf("the kernel has %d watches", n)
	}
	for began := time.Now(); r.Polled() > 0 && time.Since(began) < 2*time.Minute; {
		r.Wake()
		time.Sleep(100 * time.Millisecond) // the attempt is 20 s away
	}
	r.settled(t, true)
	write()
	r.settled(t, true)
	r.stop()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], cure) || !strings.Contains(lines[1], "can be watched again") {
		t.Errorf("logged\n%s", &log)
	}
}
