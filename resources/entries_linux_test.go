package resources

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// motley is an open directory with all that there can be in one, and more of it than fits a buffer.
func motley(t *testing.T) *os.File {
	t.Helper()
	p := serve(t, "file", "dir/", "link -> file", "dead -> nothing", strings.Repeat("n", 255), " ", "\xff", "...", "a\nb")
	p.must(unix.Mkfifo(p.at("fifo"), 0o600))
	for i := range 2000 {
		p.must(os.WriteFile(p.at(fmt.Sprintf("one of many names %d", i)), nil, 0o600))
	}
	dir, err := os.Open(p.dir)
	p.must(err)
	t.Cleanup(func() { dir.Close() })
	return dir
}

func sorted(list []entry) []entry {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list
}

func TestEntriesAreThoseOfReadDir(t *testing.T) {
	dir := motley(t)
	got, err := entriesIn(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	want, err := entriesSlowly(dir, -1)
	if err != nil || len(want) != 2010 {
		t.Fatalf("%d entries, %v", len(want), err)
	}
	if got, want := sorted(got), sorted(want); !slices.Equal(got, want) {
		t.Errorf("got %d entries, want %d:\n%q\n%q", len(got), len(want), got, want)
	}
}

// TestEntriesWithoutATypeAreLookedAt: some file systems do not say what an entry is, and some leave those that are gone.
func TestEntriesWithoutATypeAreLookedAt(t *testing.T) {
	dir := motley(t)
	raw := make([]byte, 1<<20)
	n, err := unix.ReadDirent(int(dir.Fd()), raw)
	if err != nil {
		t.Fatal(err)
	}
	raw = raw[:n]
	want, err := appendEntries(nil, dir, bytes.Clone(raw))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(raw); at += int(binary.NativeEndian.Uint16(raw[at+int(unsafe.Offsetof(unix.Dirent{}.Reclen)):])) {
		raw[at+int(unsafe.Offsetof(unix.Dirent{}.Type))] = unix.DT_UNKNOWN
		if bytes.HasPrefix(raw[at+int(unsafe.Offsetof(unix.Dirent{}.Name)):], []byte("dead\x00")) {
			clear(raw[at+int(unsafe.Offsetof(unix.Dirent{}.Ino)):][:8])
		}
	}
	if err := os.Remove(dir.Name() + "/fifo"); err != nil {
		t.Fatal(err)
	}
	got, err := appendEntries(nil, dir, raw)
	want = slices.DeleteFunc(want, func(e entry) bool { return e.name == "dead" || e.name == "fifo" })
	if err != nil || !slices.Equal(got, want) || len(want) < 2000 {
		t.Errorf("got %d entries, want %d, %v:\n%q\n%q", len(got), len(want), err, got, want)
	}
}

func TestWhatIsNoDirectoryHasNoEntries(t *testing.T) {
	p := serve(t, "file")
	f, err := os.Open(p.at("file"))
	p.must(err)
	defer f.Close()
	if list, err := entriesIn(f, -1); err == nil || reason(err) != unix.ENOTDIR.Error() {
		t.Errorf("%q, %v", list, err)
	}
}
