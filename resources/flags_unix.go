//go:build unix

package resources

import "syscall"

const (
	onlyDir  = syscall.O_DIRECTORY
	noFollow = syscall.O_NOFOLLOW
	noBlock  = syscall.O_NONBLOCK // opening a FIFO without a writer blocks for ever otherwise
)
