package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSave measures how long it takes from the beginning of a save to the arrival of its notification at the
// client, over pipes and real files, after a time without changes longer than any pacing. extra/op counts what came
// beyond one notification a save; it is 0 unless the machine is so busy that a save is interrupted half way.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench Save -benchtime 300x
func BenchmarkSave(b *testing.B) {
	for _, style := range []struct {
		name string
		save func(file, text string) error
	}{
		{"in place", func(file, text string) error { return os.WriteFile(file, []byte(text), 0o666) }},
		{"rename over", renameOver},
		{"vim", vimSave},
		{"safe write", safeWrite},
	} {
		b.Run(style.name, func(b *testing.B) { benchmarkSave(b, style.save) })
	}
}

// quiet is longer than the settle window, the second look at what is gone, and the pacing of one URI.
const quiet = 100 * time.Millisecond

func benchmarkSave(b *testing.B, save func(file, text string) error) {
	file := filepath.Join(b.TempDir(), "notes.md")
	must(b, os.WriteFile(file, []byte("start\n"), 0o666))
	w := startWire(b, serving(filepath.Dir(file)))
	w.send(w.expand(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":` +
		`{"resourcesListChanged":true,"resourceSubscriptions":["test://notes.md"]},$META}}`))
	w.next(nil)
	var took []time.Duration
	extra := len(w.until(quiet))
	for b.Loop() {
		start := time.Now()
		must(b, save(file, fmt.Sprintf("version %d\n", len(took))))
		for !strings.Contains(w.next(nil), "notifications/resources/updated") {
			extra++
		}
		took = append(took, time.Since(start))
		extra += len(w.until(quiet))
	}
	must(b, w.in.Close())
	w.untilEnd()
	slices.Sort(took)
	b.ReportMetric(0, "ns/op") // would count the quiet
	b.ReportMetric(float64(extra)/float64(len(took)), "extra/op")
	for _, p := range []int{50, 99, 100} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

// until returns the frames that come within d.
func (w *wireEnd) until(d time.Duration) (frames []string) {
	over := time.After(d)
	for {
		select {
		case frame := <-w.frames:
			frames = append(frames, frame)
		case <-over:
			return frames
		}
	}
}

// renameOver writes a new file and renames it over the old one.
func renameOver(file, text string) error {
	if err := os.WriteFile(file+".tmp", []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

// vimSave moves the file to a backup, writes it anew and removes the backup.
func vimSave(file, text string) error {
	probe := filepath.Join(filepath.Dir(file), "4913")
	if err := os.WriteFile(probe, nil, 0o666); err != nil {
		return err
	}
	if err := os.Remove(probe); err != nil {
		return err
	}
	if err := os.Rename(file, file+"~"); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	if err := os.Chmod(file, 0o644); err != nil {
		return err
	}
	return os.Remove(file + "~")
}

// safeWrite writes a new file, moves the old one away and the new one in, and removes the old one.
func safeWrite(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o666); err != nil {
		return err
	}
	if err := os.Rename(file, file+".old"); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	return os.Remove(file + ".old")
}
