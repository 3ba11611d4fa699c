//go:build unix

package main

import "syscall"

// descriptors is how many files and connections the process may have open; the runtime has raised it as far as it may.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > mostAtAll {
		return mostAtAll
	}
	return int(limit.Cur)
}
