package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a server that runs.
type child struct {
	name    string
	url     string // of the endpoint, over HTTP
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader // of outPipe
	outPipe io.ReadCloser
	err     *lineWatch
	started time.Time
}

const (
	startWithin = 60 * time.Second // with a million files in the directory
	endWithin   = 5 * time.Second
)

// start runs a command on the given cores.
func (c cores) start(name string, argv []string, set unix.CPUSet) (*child, error) {
	ch := &child{name: name, command: exec.Command(argv[0], argv[1:]...), err: &lineWatch{}}
	ch.command.Stderr = ch.err
	ch.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if ch.in, err = ch.command.StdinPipe(); err != nil {
		return nil, err
	}
	if ch.outPipe, err = ch.command.StdoutPipe(); err != nil {
		return nil, err
	}
	ch.out = bufio.NewReaderSize(ch.outPipe, 256<<10)
	ch.started = time.Now()
	if err := c.on(set, ch.command.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return ch, nil
}

// startHTTP starts a server of HTTP and waits until it says where it listens.
func (c cores) startHTTP(ctx context.Context, name string, argv []string, set unix.CPUSet) (*child, error) {
	ch, err := c.start(name, argv, set)
	if err != nil {
		return nil, err
	}
	line, err := ch.err.await(ctx, "url=", startWithin)
	if err != nil {
		ch.end()
		return nil, fmt.Errorf("%s does not say where it listens: %w", name, err)
	}
	_, url, _ := strings.Cut(line, "url=")
	ch.url, _, _ = strings.Cut(strings.TrimSpace(url), " ")
	return ch, nil
}

func (ch *child) pid() int { return ch.command.Process.Pid }

func (ch *child) cpu() (time.Duration, error) { return cpuTime(ch.pid()) }

func (ch *child) memory() (memory, error) { return memoryOf(ch.pid()) }

// end ends the process, at the latest by force.
func (ch *child) end() {
	_ = ch.in.Close()
	_ = ch.command.Process.Signal(syscall.SIGTERM)
	force := time.AfterFunc(endWithin, func() { _ = ch.command.Process.Kill() })
	defer force.Stop()
	_, _ = io.Copy(io.Discard, ch.out)
	_ = ch.command.Wait() // a server may well end by the signal
}

// lineWatch keeps the end of what a process says, and wakes who waits for a line of it.
type lineWatch struct {
	mu    sync.Mutex    // guards all below
	said  []byte        // its last keepSaid bytes at least
	again chan struct{} // closed when more is said; nil if nobody waits
}

const keepSaid = 64 << 10 // bytes

func (w *lineWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, p...)
	if len(w.said) > 2*keepSaid {
		w.said = append(w.said[:0], w.said[len(w.said)-keepSaid:]...)
	}
	if w.again != nil {
		close(w.again)
		w.again = nil
	}
	return len(p), nil
}

// await returns the first complete line that contains part.
func (w *lineWatch) await(ctx context.Context, part string, within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		w.mu.Lock()
		for line := range strings.Lines(string(w.said)) {
			if strings.Contains(line, part) && strings.HasSuffix(line, "\n") {
				w.mu.Unlock()
				return line, nil
			}
		}
		if w.again == nil {
			w.again = make(chan struct{})
		}
		again, said := w.again, string(w.said)
		w.mu.Unlock()
		select {
		case <-again:
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), fmt.Errorf("it said %q", said))
		}
	}
}

// exists reports whether there is a file or directory at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
