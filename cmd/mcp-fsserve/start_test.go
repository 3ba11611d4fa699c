package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart measures, from the start of the process, the first answer (to server/discover) and the first page of the
// list, of a tree of 100,000 files and of a small one; and, where /proc tells, the most memory that was resident until then.
// What is aimed at is 20 ms for the answer, 100 ms for the page, and for the small tree 10 MB without the C library.
//
//	go test ./cmd/mcp-fsserve -run '^$' -bench Start -benchtime 20x
func BenchmarkStart(b *testing.B) {
	program := built(b)
	large, small := b.TempDir(), b.TempDir()
	for i := range 1000 {
		makeFiles(b, filepath.Join(large, fmt.Sprintf("group-%02d", i/100), fmt.Sprintf("directory-%03d", i)), 100)
	}
	makeFiles(b, small, 15)
	b.Run("100000 files", func(b *testing.B) { benchmarkStart(b, program, large, 250) })
	b.Run("15 files", func(b *testing.B) { benchmarkStart(b, program, small, 15) })
}

// built is the program as it is installed, whereas the tests start their own binary.
func built(b *testing.B) (program string) {
	program = filepath.Join(b.TempDir(), "mcp-fsserve")
	build := exec.Command("go", "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

func makeFiles(b *testing.B, dir string, n int) {
	must(b, os.MkdirAll(dir, 0o777))
	for i := range n {
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%03d.md", i)), []byte("text\n"), 0o666))
	}
}

func benchmarkStart(b *testing.B, program, dir string, want int) {
	var answers, lists []time.Duration
	var memory []int
	for b.Loop() {
		start := time.Now()
		s := startSession(b, program, dir)
		s.call("server/discover", nil, nil)
		answers = append(answers, time.Since(start))
		memory = append(memory, mostMemory(b, s.cmd.Process.Pid))
		var page struct{ Resources []struct{} }
		s.call("resources/list", nil, &page)
		lists = append(lists, time.Since(start))
		if len(page.Resources) != want {
			b.Fatalf("%d resources on the first page", len(page.Resources))
		}
		s.end()
	}
	b.ReportMetric(0, "ns/op") // would count the end
	report(b, "discover", answers)
	report(b, "page", lists)
	slices.Sort(memory)
	if last := len(memory) - 1; memory[last] > 0 {
		b.ReportMetric(float64(memory[last/2])/1e6, "memory-p50-MB")
		b.ReportMetric(float64(memory[last])/1e6, "memory-max-MB")
	}
}

// report gives the median and the maximum.
func report(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	last := len(took) - 1
	b.ReportMetric(float64(took[last/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[last].Microseconds())/1000, what+"-max-ms")
}

// mostMemory is the most memory in bytes that was resident so far, 0 where there is no /proc.
func mostMemory(t testing.TB, pid int) int { return processStatus(t, pid, "VmHWM") << 10 }

// processStatus is a number that the kernel tells of a process, 0 where there is no /proc. Of memory it is in KiB.
func processStatus(t testing.TB, pid int, field string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if os.IsNotExist(err) {
		return 0
	}
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
			must(t, err)
			return n
		}
	}
	t.Fatalf("the kernel tells nothing of %s", field)
	return 0
}
