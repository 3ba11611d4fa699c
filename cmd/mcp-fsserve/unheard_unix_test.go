//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestChangesWithoutAnEventAreTold over the whole way, from the disk to a listener's notification.
func TestChangesWithoutAnEventAreTold(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	at := func(rel string) string { return filepath.Join(dir, rel) }
	write := func(path, text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	must(t, os.Mkdir(at("build"), 0o755))
	must(t, os.Mkdir(at("d"), 0o755))
	write(at(".gitignore"), "build/\n")
	write(at("build/app.log"), "1")
	must(t, os.Symlink("build/app.log", at("latest.log")))
	write(at("mapped"), "1234")
	write(at("d/linked"), "1")
	must(t, os.Link(at("d/linked"), filepath.Join(outside, "linked")))

	w := startWire(t, serving(dir))
	w.send(w.expand(`{"jsonrpc":"2.0","id":"files","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://mapped","test://d/linked","test://latest.log"]},$META}}`))
	w.wantFrames(`acknowledged`)
	w.send(w.expand(`{"jsonrpc":"2.0","id":"all","method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["test://"]},$META}}`))
	w.wantFrames(`acknowledged`)

	writeMapped(t, at("mapped"))
	w.wantFrames(`"uri":"test://mapped"`, `"uri":"test://"`)
	write(filepath.Join(outside, "linked"), "through the other name")
	w.wantFrames(`"uri":"test://d/linked"`, `"uri":"test://"`)
	write(at("build/app.log"), "another line")
	w.wantFrames(`"uri":"test://latest.log"`, `"uri":"test://"`)
	must(t, os.Remove(at("build/app.log")))
	w.wantFrames(`"uri":"test://latest.log"`, `"uri":"test://"`, `list_changed`)
	write(at("build/app.log"), "of another size")
	w.wantFrames(`"uri":"test://latest.log"`, `"uri":"test://"`, `list_changed`)
	must(t, w.in.Close())
	w.untilEnd()
}

// wantFrames wants so many frames to come, in any order, that each have one of the texts. Others may come between: a file
// that is looked at while it is written to is told of twice.
func (w *wireEnd) wantFrames(texts ...string) {
	w.t.Helper()
	for len(texts) > 0 {
		frame := w.next(nil)
		i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(frame, text) })
		if i >= 0 {
			texts = slices.Delete(texts, i, i+1)
		}
	}
}

// writeMapped writes through a shared mapping. The kernel sets the file's times with the first write to a page.
func writeMapped(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	m[0] = '!'
	must(t, unix.Msync(m, unix.MS_SYNC))
	must(t, unix.Munmap(m))
}
