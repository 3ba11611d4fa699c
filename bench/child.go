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
	name     string
	url      string // of the endpoint, over HTTP
	command  *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader // of outPipe
	outPipe  io.ReadCloser
	err      *lineWatch
	errPipe  io.ReadCloser
	saying   sync.WaitGroup // who reads errPipe
	started  time.Time
	restless bool // it did not come to rest when it was waited for
}

const (
	startWithin = 60 * time.Second // with a million files in the directory
	endWithin   = 5 * time.Second
)

// start runs a command on the given cores.
func (c cores) start(name string, argv []string, set unix.CPUSet) (*child, error) {
	ch := &child{name: name, command: exec.Command(argv[0], argv[1:]...), err: &lineWatch{}}
	ch.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if ch.in, err = ch.command.StdinPipe(); err != nil {
		return nil, err
	}
	if ch.outPipe, err = ch.command.StdoutPipe(); err != nil {
		return nil, err
	}
	if ch.errPipe, err = ch.command.StderrPipe(); err != nil {
		return nil, err
	}
	ch.out = bufio.NewReaderSize(ch.outPipe, 256<<10)
	ch.started = time.Now()
	if err := c.on(set, ch.command.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	ch.saying.Go(func() {
		_, _ = io.Copy(ch.err, ch.errPipe)
		ch.err.end()
	})
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

// kill ends the process by force, so that whoever waits for what it says is told that it says no more.
func (ch *child) kill() {
	_ = ch.command.Process.Kill()
	_ = ch.outPipe.Close() // a child of its own may hold the other ends
	_ = ch.errPipe.Close()
}

// within kills the process when ctx ends or a time is over, unless it is stopped before.
func (ch *child) within(ctx context.Context, d time.Duration) (stop func()) {
	ended := context.AfterFunc(ctx, ch.kill)
	late := time.AfterFunc(d, ch.kill)
	return func() {
		ended()
		late.Stop()
	}
}

// end ends the process, at the latest by force.
func (ch *child) end() {
	_ = ch.in.Close()
	_ = ch.command.Process.Signal(syscall.SIGTERM)
	defer ch.within(context.Background(), endWithin)()
	_, _ = io.Copy(io.Discard, ch.out)
	ch.saying.Wait()
	_ = ch.command.Wait() // a server may well end by the signal
}

// lineWatch keeps the end of what a process says, and wakes who waits for a line of it.
type lineWatch struct {
	mu    sync.Mutex    // guards all below
	said  []byte        // its last keepSaid bytes at least
	again chan struct{} // closed when more is said, or no more; nil if nobody waits
	over  bool          // no more is said
}

const keepSaid = 64 << 10 // bytes

func (w *lineWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, p...)
	if len(w.said) > 2*keepSaid {
		w.said = append(w.said[:0], w.said[len(w.said)-keepSaid:]...)
	}
	w.wakeLocked()
	return len(p), nil
}

// end notes that no more is said.
func (w *lineWatch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.wakeLocked()
}

func (w *lineWatch) wakeLocked() {
	if w.again != nil {
		close(w.again)
		w.again = nil
	}
}

var errEnded = errors.New("the server has ended")

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
		again, over, said := w.again, w.over, w.said
		w.mu.Unlock()
		if over {
			return "", fmt.Errorf("%w: it said %.300q", errEnded, said)
		}
		select {
		case <-again:
		case <-ctx.Done():
			return "", fmt.Errorf("%w: it said %.300q", ctx.Err(), w.text())
		}
	}
}

// text returns what a process has said.
func (w *lineWatch) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.said)
}

// exists reports whether there is a file or directory at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
