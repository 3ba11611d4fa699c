package resources

import (
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
