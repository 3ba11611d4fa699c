// Command witness runs a server between the pipes of its client, and tells a test what passes, as it passes.
//
//	witness SOCKET SERVER [ARG ...]
//
// Each entry is a JSON object on a line of its own, written to the Unix socket before the line it reports is passed on:
// who said it ("client", "server", or "stderr" of the server) and the line. The last entry says with which status the
// server ended. Signals are handed to the server, and its status becomes the witness's own.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// failed is the status for a witness that cannot do its work: no server has it.
const failed = 120

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: witness SOCKET SERVER [ARG ...]")
		os.Exit(failed)
	}
	// Some clients close the pipes of a server before it has ended: what it still says is to be heard all the same.
	signal.Ignore(syscall.SIGPIPE)
	status, err := witness(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(failed)
	}
	os.Exit(status)
}

// entry is one line of the record. Exit is there in the last one only.
type entry struct {
	From string `json:"from"`
	Line string `json:"line"`
	Exit *int   `json:"exit,omitempty"`
}

// record writes entries. Its methods may be called concurrently.
type record struct {
	mu  sync.Mutex // guards out, and with it the order of entries
	out *json.Encoder
}

func (r *record) add(e entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Encode(e)
}

// witness runs command to its end and returns its status, or an error if that is not known.
func witness(socket string, command []string) (int, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	r := &record{out: json.NewEncoder(conn)}

	server := exec.Command(command[0], command[1:]...)
	stdin, err := server.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		return 0, err
	}
	stderr, err := server.StderrPipe()
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8) // never closed: signals may come until the end
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := server.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_ = server.Process.Signal(s)
		}
	}()
	go func() {
		_ = pass(r, "client", os.Stdin, stdin)
		_ = stdin.Close()
	}()
	var said sync.WaitGroup
	var heard [2]error
	said.Go(func() { heard[0] = pass(r, "server", stdout, os.Stdout) })
	said.Go(func() { heard[1] = pass(r, "stderr", stderr, io.Discard) })
	said.Wait()
	if err := errors.Join(heard[:]...); err != nil {
		return 0, err
	}
	return end(r, server)
}

// end waits for a server that has said everything, and reports its status; one that a signal ended has -1.
func end(r *record, server *exec.Cmd) (int, error) {
	var exit *exec.ExitError
	if err := server.Wait(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	status := server.ProcessState.ExitCode()
	return status, r.add(entry{From: "server", Exit: &status})
}

// pass records each line of in, then writes it to out, until in ends. A reader of out that is gone stops nothing.
func pass(r *record, from string, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if err := r.add(entry{From: from, Line: line}); err != nil {
				return err
			}
			_, _ = io.WriteString(out, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
