package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine says where and when the figures come from.
type machine struct {
	Date    string   `json:"date"`
	CPU     string   `json:"cpu"`
	Kernel  string   `json:"kernel"`
	Cores   string   `json:"cores"`
	Go      string   `json:"go"`
	Node    string   `json:"node"`
	Servers []string `json:"servers"` // with their versions
	Rounds  int      `json:"rounds"`
	Took    string   `json:"took"`
}

func (b *bench) report(ctx context.Context, peers []peer, start time.Time) machine {
	m := machine{
		Date: start.UTC().Format("2006-01-02 15:04 UTC"), CPU: processor(), Cores: b.cores.String(), Go: runtime.Version(),
		Rounds: b.scale.rounds, Took: time.Since(start).Round(time.Second).String(),
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		m.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	if out, err := exec.CommandContext(ctx, "node", "--version").Output(); err == nil {
		m.Node = strings.TrimSpace(string(out))
	}
	for _, p := range peers {
		m.Servers = append(m.Servers, p.named())
	}
	return m
}

func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// text is the head of the tables.
func (m machine) text() string {
	node := ""
	if m.Node != "" {
		node = ", Node.js " + m.Node
	}
	return fmt.Sprintf("%s, %s, %s; %s%s. Medians of %s, which took %s; %s.\nServers: %s.\n",
		m.Date, m.CPU, m.Kernel, m.Go, node, counted(m.Rounds, "round"), m.Took, m.Cores, strings.Join(m.Servers, "; ")) +
		"In brackets: how many times the first figure of the row. Less is better, but where it says that more is.\n"
}
