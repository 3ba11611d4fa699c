package wire

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// How long a command may take, unless whoever closes it is in a hurry. "The client SHOULD initiate shutdown by: closing the
// input stream to the child process; waiting for the server to exit; if the server does not exit within a reasonable time,
// forcibly terminating the process" (basic/transports/stdio, "Shutdown").
const (
	leaveWithin = 5 * time.Second // after its input has ended, until SIGTERM, unless a Target says another; also the end of a session
	heedWithin  = 2 * time.Second // after SIGTERM, until it is killed, unless a Target says another
	drainWithin = time.Second     // after its exit, for what others hold of its output
	exitWithin  = 2 * drainWithin // after the end of its output, for its exit, which is known once its standard error is drained
)

// child is a command that runs, in a process group of its own: a terminal's interrupt is for this process, which ends
// the server in order, and what the command has started can be ended with it.
type child struct {
	cmd   *exec.Cmd
	in    *os.File      // its standard input
	out   *os.File      // its standard output
	leave time.Duration // until SIGTERM
	heed  time.Duration // from then on, until it is killed

	exited chan struct{} // closed by wait
	exit   error         // set before exited is closed
}

func startChild(t *Target) (*child, error) {
	cmd := exec.Command(t.Command[0], t.Command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = t.Env, t.Dir, t.Stderr
	cmd.WaitDelay = drainWithin // of standard error, which what it has started may hold open for ever
	cmd.SysProcAttr = ownGroup()
	itsIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("server does not start: %w", err)
	}
	out, itsOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server does not start: %w", err), itsIn.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout = itsIn, itsOut
	err = cmd.Start()
	_ = itsIn.Close() // the child has its own
	_ = itsOut.Close()
	if err != nil {
		_ = in.Close()
		_ = out.Close()
		return nil, fmt.Errorf("server does not start: %w", err)
	}
	return &child{cmd: cmd, in: in, out: out, leave: t.Leave, heed: t.Heed, exited: make(chan struct{})}, nil
}

// wait reaps the child. It closes the output once read is closed, which says that all of it was read. Others that hold it
// after the exit are killed; if even then somebody does, who has left the group, the output is closed all the same.
func (c *child) wait(read <-chan struct{}) {
	c.exit = c.cmd.Wait()
	if errors.Is(c.exit, exec.ErrWaitDelay) {
		c.exit = nil // it has left with status 0
	}
	close(c.exited)
	_ = c.in.Close() // if others hold the other end, a write to it could block for ever
	late := time.NewTimer(drainWithin)
	defer late.Stop()
	select {
	case <-read:
	case <-late.C:
		killGroup(c.cmd.Process)
		late.Reset(drainWithin)
		select {
		case <-read:
		case <-late.C:
		}
	}
	_ = c.out.Close()
}

// end waits for the child to leave, whose input is closed already, and makes it when that takes too long, or at once when
// hurry is closed.
func (c *child) end(hurry <-chan struct{}) error {
	late := time.NewTimer(c.leave)
	defer late.Stop()
	told := false
	select {
	case <-c.exited:
		return c.exit
	case <-late.C:
		told = true
		terminateGroup(c.cmd.Process)
	case <-hurry:
	}
	late.Reset(c.heed)
	select {
	case <-c.exited:
	case <-late.C:
	case <-hurry:
	}
	select {
	case <-c.exited:
	default:
		killGroup(c.cmd.Process)
		<-c.exited
	}
	switch {
	case c.exit != nil:
		return fmt.Errorf("%w (%v)", ErrForced, c.exit)
	case told: // and heeded, with status 0
		return ErrForced
	}
	return nil
}
