//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// shellCommand has the shell of the system run a line, in a process group of its own: a terminal's interrupt is for this
// program, which ends in order, with all that the line has started.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func askGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup fails only when nobody is left.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
