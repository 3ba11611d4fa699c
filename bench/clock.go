package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time that all threads of a process, also those that have ended, took in user and system mode.
func cpuTime(pid int) (time.Duration, error) {
	// The clock of another process: its number inverted above three bits that say it counts for the scheduler, which is
	// exact to the nanosecond where /proc/PID/stat has ticks of 10 ms.
	const perProcessSched = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|perProcessSched), &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// memory is what a process has resident.
type memory struct {
	now, peak int64 // bytes
}

func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	var m memory
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kB, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			m.now = kB << 10
		case "VmHWM":
			m.peak = kB << 10
		}
	}
	if m.now == 0 {
		return memory{}, fmt.Errorf("/proc/%d/status tells no VmRSS", pid)
	}
	return m, nil
}

// forgetPeak makes the peak of a process what it has resident now.
func forgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
