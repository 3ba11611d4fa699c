package resources

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The kernel gives the number of a closed file to the next one that is opened, which may be one that is not served.
func TestClosedHandleIsNobodyElses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"served": "served", "secret": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := openHandle(filepath.Join(dir, "served"), os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := openHandle(filepath.Join(dir, "secret"), os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var got [6]byte
	if n, err := h.ReadAt(got[:], 0); err == nil {
		t.Errorf("a closed file was read: %q", got[:n])
	}
	if _, err := h.Stat(); err == nil {
		t.Error("a closed file was looked at")
	}
	if h.Close() == nil {
		t.Error("a file was closed twice")
	}
	if n, err := other.ReadAt(got[:], 0); string(got[:n]) != "secret" {
		t.Errorf("another's file: %q, %v", got[:n], err)
	}
}

// What is less than was asked for is the end where the size says so, and nowhere else: the size of a file in /proc is 0.
func TestTheEndIsWhereTheSizeSaysOrNothingComes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("sixteen of bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		path string
		size int64 // that the file is thought to have
		read int
	}{
		"as it is":          {path, 16, 16},
		"it was shorter":    {path, 7, 16},
		"it was longer":     {path, 30, 16},
		"it was empty":      {path, 0, 16},
		"not looked at yet": {"/proc/self/mounts", 0, -1},
	} {
		h, err := openHandle(want.path, os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		h.size = want.size
		all, err := os.ReadFile(want.path)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, len(all)+100)
		n, err := h.ReadAt(buf, 0)
		if err != io.EOF || want.read >= 0 && n != want.read || string(buf[:n]) != string(all) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if n, err := h.ReadAt(buf[:4], 0); n != 4 || err != nil {
			t.Errorf("%s: %d bytes of 4, %v", name, n, err)
		}
		h.Close()
	}
}
