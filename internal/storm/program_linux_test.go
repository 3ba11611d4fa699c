package storm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that is not timed by a promise: only a fault reaches it.
const patience = 30 * time.Second

// program is the server in a process of its own.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	said  output
	ended chan error // has the one result of Wait
}

// output is a writer that many may read.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a command line whose last words are the program's.
func start(t *testing.T, as user, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(args[0], args[1:]...), ended: make(chan error, 1)}
	p.cmd.Dir = "/"
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 halt_on_error=0")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if int(as.uid) != os.Getuid() {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
	p.cmd.Stderr = &p.said
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.cmd.Stdout = out, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails when it has ended, as it should
		out.Close()
	})
	return p
}

// end closes its input and expects a clean end.
func (p *program) end() error {
	p.in.Close()
	select {
	case err := <-p.ended:
		if err != nil {
			return fmt.Errorf("the program ended with %v", err)
		}
	case <-time.After(patience):
		return fmt.Errorf("the program does not end")
	}
	for _, bad := range []string{"panic", "DATA RACE", "goroutine "} {
		if strings.Contains(p.said.String(), bad) {
			return fmt.Errorf("the program said %q", bad)
		}
	}
	return nil
}

func (p *program) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), name)
}

// descriptors counts what it has open, and finds which inodes it watches.
func (p *program) descriptors() (open int, watched map[uint64]int, err error) {
	entries, err := os.ReadDir(p.proc("fd"))
	if err != nil {
		return 0, nil, err
	}
	watched = map[uint64]int{}
	for _, e := range entries {
		if to, err := os.Readlink(p.proc("fd/" + e.Name())); err != nil || to != inotify {
			continue
		}
		info, err := os.ReadFile(p.proc("fdinfo/" + e.Name()))
		if err != nil {
			return 0, nil, err
		}
		for line := range strings.Lines(string(info)) {
			var wd int
			var ino uint64
			if n, _ := fmt.Sscanf(line, "inotify wd:%x ino:%x", &wd, &ino); n == 2 {
				watched[ino]++
			}
		}
	}
	return len(entries), watched, nil
}

// watches reports whether it has a queue of events.
func (p *program) watches() bool {
	entries, err := os.ReadDir(p.proc("fd"))
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, err := os.Readlink(p.proc("fd/" + e.Name()))
		return err == nil && to == inotify
	})
}

const inotify = "anon_inode:inotify"

// resident is its memory in bytes.
func (p *program) resident() (bytes int64, err error) {
	status, err := os.Open(p.proc("status"))
	if err != nil {
		return 0, err
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}
