package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// shellCommand has the shell of the system run a line, which it takes as it is: it knows nothing of arguments. A console's
// interrupt is for this program, which ends in order.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /S /C "` + line + `"`, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	return cmd
}

// askGroup ends the shell: there are no signals that it could heed.
func askGroup(p *os.Process) error { return p.Kill() }

// killGroup has nothing to do: what the shell has started is not known.
func killGroup(*os.Process) {}
