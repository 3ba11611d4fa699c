package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// cores says who runs where.
type cores struct {
	all, server, load unix.CPUSet
	apart             bool // server and load share no core
}

// divideCores gives the first core to the server, and all others to the load generator, where there are others.
func divideCores() (cores, error) {
	var c cores
	if err := unix.SchedGetaffinity(0, &c.all); err != nil {
		return c, err
	}
	c.server, c.load = c.all, c.all
	if c.all.Count() < 2 {
		return c, nil
	}
	c.apart = true
	c.server.Zero()
	for core := 0; ; core++ {
		if c.all.IsSet(core) {
			c.server.Set(core)
			c.load.Clear(core)
			return c, nil
		}
	}
}

// stay keeps this process, with the threads that it has and those to come, on the cores of the load generator.
func (c cores) stay() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, &c.load); err != nil && err != unix.ESRCH { // a thread may have ended
			return fmt.Errorf("pin the load generator: %w", err)
		}
	}
	runtime.GOMAXPROCS(c.load.Count())
	return nil
}

// on calls start on a thread that runs on the given cores alone, which a process that it starts inherits.
func (c cores) on(set unix.CPUSet, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin the server: %w", err)
	}
	err := start()
	if back := unix.SchedSetaffinity(0, &c.load); back != nil && err == nil {
		err = back
	}
	return err
}

func (c cores) String() string {
	if !c.apart {
		return "one core, shared by server and load generator"
	}
	return fmt.Sprintf("of %d cores, 1 is the server's over HTTP, and the load generator has the others", c.all.Count())
}
