package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// child is this executable running as a server.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

var errKilled = errors.New("killed, since it did not end with its input")

// startSelf starts this executable with args; what it says on standard error is passed on to stderr.
func startSelf(args []string, stderr io.Writer) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own executable unknown: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "mcp-fsserve"
	cmd.Stderr = stderr
	cmd.SysProcAttr = ownGroup() // a terminal's interrupt is for this process, which ends the server in order
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("server does not start: %w", err)
	}
	return &child{cmd: cmd, in: in, out: out}, nil
}

// end closes the server's input, waits until read has delivered the result of reading its output to the end, and
// reaps it. It kills a server that has not left after patience. The error is the server's exit, nil for status 0.
func (c *child) end(patience time.Duration, read <-chan error) error {
	_ = c.in.Close() // fails only when the server has left already
	late := time.NewTimer(patience)
	defer late.Stop()
	exited := make(chan error, 1)
	go func() {
		broken := <-read // Wait closes the pipe, so the reader comes first
		exited <- errors.Join(broken, c.cmd.Wait())
	}()
	select {
	case err := <-exited:
		return err
	case <-late.C:
		_ = c.cmd.Process.Kill()
		<-exited
		return errKilled
	}
}
