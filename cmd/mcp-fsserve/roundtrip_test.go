package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkRoundTrip measures a read of 1 KiB over pipes, the answer of which is waited for, and the processor time that it
// costs the program, its start included. With a single processor nothing else may keep that while the next request is waited
// for. What is aimed at is 70 µs.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench RoundTrip -benchtime 20000x
func BenchmarkRoundTrip(b *testing.B) {
	program, dir := built(b), b.TempDir()
	must(b, os.WriteFile(filepath.Join(dir, "notes.md"), []byte(strings.Repeat("a line\n", 146)), 0o666))
	for _, test := range []struct{ name, processors string }{{"one processor", "1"}, {"two processors", "2"}} {
		b.Run(test.name, func(b *testing.B) {
			b.Setenv("GOMAXPROCS", test.processors)
			s := startSession(b, program, "--uri-base", "test://", dir)
			s.read("test://notes.md")
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				s.read("test://notes.md")
				took = append(took, time.Since(start))
			}
			s.end()
			b.ReportMetric(0, "ns/op") // would count the end
			report(b, "read", took)
			used := s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
			b.ReportMetric(float64(used.Nanoseconds())/float64(len(took)), "cpu-ns/op")
		})
	}
}
