//go:build unix

package wire

import (
	"os"
	"syscall"
)

// ownGroup keeps the signals of a terminal from a child.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(p *os.Process) { signalGroup(p, syscall.SIGTERM) }

func killGroup(p *os.Process) { signalGroup(p, syscall.SIGKILL) }

// signalGroup fails only when nobody is left.
func signalGroup(p *os.Process, s syscall.Signal) { _ = syscall.Kill(-p.Pid, s) }
