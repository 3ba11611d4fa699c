package wire

import (
	"os"
	"syscall"
)

// ownGroup keeps the signals of a terminal from a child.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup ends the child: there are no signals that it could heed.
func terminateGroup(p *os.Process) { killGroup(p) }

func killGroup(p *os.Process) { _ = p.Kill() }
