package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	stormDirs    = 1000
	stormPerDir  = 100
	stormWriters = 4
	stormHeard   = 1000 // files of them that a client listens to
)

// BenchmarkFileStorm makes, writes to and removes 100,000 files as fast as four writers can, while a client listens to the list,
// to the whole directory and to 1,000 of the files, and is told of each of those.
//
//   - write-ms is how long the writers took.
//   - list-ms is from the last write until all pages of the list, walked at once, equal the disk.
//   - told-ms is from the last write until each of the 1,000 files has been told of, 0 if that was before.
//   - lists counts the changes of the list that the client was told of.
//   - memory-MB is the most that was resident, of everything: it bounds the heap.
//
// What is aimed at is 3 s for both times and 64 MB.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench FileStorm -benchtime 3x
func BenchmarkFileStorm(b *testing.B) {
	program := built(b)
	steps := []struct {
		name string
		do   func(file string) error
		left int
	}{
		{"create", func(file string) error { return os.WriteFile(file, []byte("one\n"), 0o666) }, stormDirs * stormPerDir},
		{"write", func(file string) error { return os.WriteFile(file, []byte("another\n"), 0o666) }, stormDirs * stormPerDir},
		{"remove", os.Remove, 0},
	}
	writes, lists, tolds, changes := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string][]time.Duration{}, 0
	memory := 0
	for b.Loop() {
		dir := b.TempDir()
		for i := range stormDirs {
			must(b, os.MkdirAll(filepath.Dir(filepath.Join(dir, stormName(i*stormPerDir))), 0o777))
		}
		s := startSession(b, program, "--uri-base", "test://", "--page-size", "1000", dir)
		uris := []string{"test://"}
		for i := range stormHeard {
			uris = append(uris, "test://"+stormName(i*stormDirs*stormPerDir/stormHeard))
		}
		s.send("subscriptions/listen", map[string]any{"notifications": map[string]any{
			"resourcesListChanged": true, "resourceSubscriptions": uris}})
		if m := s.next(); m.Method != "notifications/subscriptions/acknowledged" {
			b.Fatalf("the server sent %+v", m)
		}
		heard := s.hearAside()
		for _, step := range steps {
			told := heard.await(uris[1:])
			start := time.Now()
			storm(b, dir, step.do)
			end := time.Now()
			writes[step.name] = append(writes[step.name], end.Sub(start))
			for {
				entries, _ := s.walk()
				if len(entries) == step.left {
					break
				}
				if time.Since(end) > patience {
					b.Fatalf("%s: the list has %d entries", step.name, len(entries))
				}
			}
			lists[step.name] = append(lists[step.name], time.Since(end))
			select {
			case at := <-told:
				tolds[step.name] = append(tolds[step.name], max(0, at.Sub(end)))
			case <-time.After(patience):
				b.Fatalf("%s: %d files have not been told of", step.name, heard.missed())
			}
		}
		changes += heard.listChanges()
		memory = max(memory, mostMemory(b, s.cmd.Process.Pid))
		s.end()
	}
	b.ReportMetric(0, "ns/op") // would count the preparation
	for _, step := range steps {
		report(b, step.name+"-write", writes[step.name])
		report(b, step.name+"-list", lists[step.name])
		report(b, step.name+"-told", tolds[step.name])
	}
	b.ReportMetric(float64(changes)/float64(b.N), "lists/op")
	b.ReportMetric(float64(memory)/1e6, "memory-MB")
}

// hearing takes what a session is told, so that only answers are left to it.
type hearing struct {
	mu      sync.Mutex // guards what follows
	lists   int
	missing map[string]bool
	told    chan time.Time // 1-buffered; sent to when nothing is missing any more, and then replaced
}

func (s *session) hearAside() *hearing {
	h := &hearing{}
	frames, answers := s.frames, make(chan string, 16)
	s.frames = answers
	go func() {
		defer close(answers)
		for frame := range frames {
			if m := parseMessage(s.t, frame); m.Method == "" {
				answers <- frame
			} else {
				h.take(m)
			}
		}
	}()
	return h
}

func (h *hearing) take(m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Method == "notifications/resources/list_changed" {
		h.lists++
		return
	}
	if len(h.missing) == 0 {
		return
	}
	if delete(h.missing, m.Params.URI); len(h.missing) == 0 {
		h.told <- time.Now()
	}
}

// await returns what is sent to when each of the URIs has been told of.
func (h *hearing) await(uris []string) <-chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = make(map[string]bool, len(uris))
	for _, uri := range uris {
		h.missing[uri] = true
	}
	h.told = make(chan time.Time, 1)
	return h.told
}

func (h *hearing) listChanges() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lists
}

func stormName(i int) string {
	return fmt.Sprintf("g%02d/d%03d/f%02d.md", i/stormPerDir/100, i/stormPerDir, i%stormPerDir)
}

// storm does this to each file, the writers each to every fourth one.
func storm(b *testing.B, dir string, do func(file string) error) {
	var writers sync.WaitGroup
	for w := range stormWriters {
		writers.Go(func() {
			for i := w; i < stormDirs*stormPerDir; i += stormWriters {
				if err := do(filepath.Join(dir, filepath.FromSlash(stormName(i)))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

func (h *hearing) missed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.missing)
}
