// Command witness runs a server between it and its client, and tells a test what passes, as it passes.
//
//	witness SOCKET SERVER [ARG ...]
//	witness -http SOCKET SERVER [ARG ...]
//
// Each entry is a JSON object on a line of its own, written to the Unix socket before the line it reports is passed on:
// who said it ("client", "server", or "stderr" of the server) and the line. The last entry says with which status the
// server ended. Signals are handed to the server, and its status becomes the witness's own.
//
// The client is at the pipes of the witness or, with -http, at the URL that the witness prints. It passes each request on
// to the URL that the server has said it listens at. What the server refuses without a message is an entry with the method and
// the status. A client that leaves the answer to a request is reported as cancelling it, since over HTTP it does. The end
// of standard input ends the server.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
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
	overHTTP := flag.Bool("http", false, "be an HTTP server to the client")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: witness [-http] SOCKET SERVER [ARG ...]")
		os.Exit(failed)
	}
	between := betweenPipes
	if *overHTTP {
		between = betweenURLs
	}
	// Some clients close the pipes of a server before it has ended: what it still says is to be heard all the same.
	signal.Ignore(syscall.SIGPIPE)
	status, err := witness(flag.Arg(0), flag.Args()[1:], between)
	if err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(failed)
	}
	os.Exit(status)
}

// entry is one line of the record. Exit is there in the last one only.
type entry struct {
	From string `json:"from"`
	Line string `json:"line,omitempty"`
	HTTP string `json:"http,omitempty"` // a method and a status, of an answer without a message
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

// server is one that runs, at its pipes.
type server struct {
	command        *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr io.Reader
}

// witness runs command to its end and returns its status, or an error if that is not known. What passes is reported by
// between, until the server has said everything.
func witness(socket string, command []string, between func(*record, *server) error) (int, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	r := &record{out: json.NewEncoder(conn)}

	s := &server{command: exec.Command(command[0], command[1:]...)}
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		return 0, err
	}
	if s.stdout, err = s.command.StdoutPipe(); err != nil {
		return 0, err
	}
	if s.stderr, err = s.command.StderrPipe(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8) // never closed: signals may come until the end
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := s.command.Start(); err != nil {
		return 0, err
	}
	go func() {
		for got := range signals {
			_ = s.command.Process.Signal(got)
		}
	}()
	if err := between(r, s); err != nil {
		_ = s.command.Process.Kill() // or it would outlive its witness
		return 0, err
	}
	return end(r, s.command)
}

func betweenPipes(r *record, s *server) error {
	go func() {
		_ = pass(r, "client", os.Stdin, s.stdin)
		_ = s.stdin.Close()
	}()
	return passOutput(r, s, os.Stdout)
}

// passOutput passes what the server says until it has said everything.
func passOutput(r *record, s *server, out io.Writer) error {
	var said sync.WaitGroup
	var heard [2]error
	said.Go(func() { heard[0] = pass(r, "server", s.stdout, out) })
	said.Go(func() { heard[1] = pass(r, "stderr", s.stderr, io.Discard) })
	said.Wait()
	return errors.Join(heard[:]...)
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
