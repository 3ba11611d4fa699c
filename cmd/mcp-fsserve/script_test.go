package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// gorace keeps the race detector from sleeping for a second at the end of each process that a test starts.
const gorace = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if err := os.Setenv("GORACE", gorace); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"mcp-fsserve": main, "hasty": hasty})
}

// TestScript runs testdata/script. Besides testscript's own commands there are some for a program that goes on
// running, all of which wait for facts and never for time:
//
//	start NAME PROGRAM ARGS...   start it, with pipes on all three streams
//	await NAME REGEXP            until a line of its standard output, after the last one awaited, matches
//	complain NAME REGEXP         the same for standard error
//	learn VAR NAME REGEXP        the same; what its group has matched is then in $VAR
//	send NAME FILE               write FILE to its standard input, with $WORK expanded
//	hangup NAME STREAM           close its stdin, or stop reading its stdout or stderr
//	signal NAME INT|TERM|KILL    send it a signal
//	ended NAME STATUS            wait for its exit status; what it printed is then in NAME.out and NAME.err
//	write FILE TEXT              write a line to a file, which may have a name no archive can hold, in Go's syntax
//	many DIR N                   make N files in DIR
//	certificate CERT KEY         make a certificate for 127.0.0.1 and its key
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[running{}] = map[string]*process{}
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", gorace)
			env.Setenv("PROGRAM_VERSION", version())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":    cmdStart,
			"await":    func(ts *testscript.TestScript, _ bool, args []string) { await(ts, args, 0) },
			"complain": func(ts *testscript.TestScript, _ bool, args []string) { await(ts, args, 1) },
			"learn":    cmdLearn,
			"send":     cmdSend,
			"hangup":   cmdHangup,
			"signal":   cmdSignal,
			"ended":    cmdEnded,
			"write":    cmdWrite,
			"many":     cmdMany,

			"certificate": cmdCertificate,
		},
	})
}

// environment is that of the tests, without tokens that somebody may have in it.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, tokenVariable+"=") })
}

// patience bounds every wait in the tests: only a fault reaches it.
const patience = 30 * time.Second

var signals = map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}

type running struct{} // key of the map of processes in testscript.Env.Values

type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	outputs [2]*output // stdout and stderr
	exited  chan error // has the one result of Wait
}

// output is a stream of a process as read so far.
type output struct {
	pipe    io.ReadCloser
	mu      sync.Mutex
	changed *sync.Cond // on mu: bytes came, the stream ended or patience did
	bytes   []byte
	awaited int // bytes that await has passed
	ended   bool
	late    bool
}

func (o *output) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := o.pipe.Read(buffer)
		o.mu.Lock()
		o.bytes = append(o.bytes, buffer[:n]...)
		o.ended = err != nil
		o.changed.Broadcast()
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await returns what matches in a line after those already awaited, and its groups; nil if none does.
func (o *output) await(re *regexp.Regexp) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	timer := time.AfterFunc(patience, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.late = true
		o.changed.Broadcast()
	})
	defer timer.Stop()
	for {
		for {
			rest := o.bytes[o.awaited:]
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			o.awaited += end + 1
			if found := re.FindStringSubmatch(string(rest[:end])); found != nil {
				return found
			}
		}
		if o.ended || o.late {
			return nil
		}
		o.changed.Wait()
	}
}

// rewind lets await begin anew with the first line.
func (o *output) rewind() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.awaited = 0
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.bytes)
}

func find(ts *testscript.TestScript, args []string, want int) *process {
	if len(args) != want {
		ts.Fatalf("%d arguments needed, %d given", want, len(args))
	}
	p := ts.Value(running{}).(map[string]*process)[args[0]]
	if p == nil {
		ts.Fatalf("no process is called %s", args[0])
	}
	return p
}

func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARGS...")
	}
	cmd := exec.Command(args[1], args[2:]...)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(environment(), "HOME="+ts.Getenv("HOME"))
	p := &process{cmd: cmd, exited: make(chan error, 1)}
	p.stdin, err = cmd.StdinPipe()
	ts.Check(err)
	for i, pipe := range []func() (io.ReadCloser, error){cmd.StdoutPipe, cmd.StderrPipe} {
		o := &output{}
		o.changed = sync.NewCond(&o.mu)
		o.pipe, err = pipe()
		ts.Check(err)
		p.outputs[i] = o
	}
	ts.Check(cmd.Start())
	var reads sync.WaitGroup
	for _, o := range p.outputs {
		reads.Go(o.read)
	}
	go func() {
		reads.Wait()
		p.exited <- cmd.Wait()
	}()
	ts.Value(running{}).(map[string]*process)[args[0]] = p
	ts.Defer(func() {
		_ = cmd.Process.Kill() // fails when it has ended, as it should
	})
}

func await(ts *testscript.TestScript, args []string, stream int) []string {
	p := find(ts, args, 2)
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	found := p.outputs[stream].await(re)
	if found == nil {
		ts.Fatalf("%s never said %q\nstdout:\n%sstderr:\n%s", args[0], args[1], p.outputs[0].text(), p.outputs[1].text())
	}
	return found
}

func cmdLearn(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: learn VAR NAME REGEXP")
	}
	found := await(ts, args[1:], 1)
	ts.Setenv(args[0], found[1])
}

func cmdSend(ts *testscript.TestScript, _ bool, args []string) {
	p := find(ts, args, 2)
	text := strings.ReplaceAll(ts.ReadFile(args[1]), "$WORK", filepath.ToSlash(ts.Getenv("WORK")))
	_, err := io.WriteString(p.stdin, text)
	ts.Check(err)
}

func cmdHangup(ts *testscript.TestScript, _ bool, args []string) {
	p := find(ts, args, 2)
	switch args[1] {
	case "stdin":
		ts.Check(p.stdin.Close())
	case "stdout":
		ts.Check(p.outputs[0].pipe.Close())
	case "stderr":
		ts.Check(p.outputs[1].pipe.Close())
	default:
		ts.Fatalf("no stream is called %s", args[1])
	}
}

func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	p := find(ts, args, 2)
	signal, ok := signals[args[1]]
	if !ok {
		ts.Fatalf("no signal is called %s", args[1])
	}
	ts.Check(p.cmd.Process.Signal(signal))
}

func cmdEnded(ts *testscript.TestScript, _ bool, args []string) {
	p := find(ts, args, 2)
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	select {
	case err := <-p.exited:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[0], err)
		}
	case <-time.After(patience):
		ts.Fatalf("%s does not end", args[0])
	}
	for i, suffix := range []string{".out", ".err"} {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+suffix), []byte(p.outputs[i].text()), 0o666))
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%s ended with status %d, not %d\nstderr:\n%s", args[0], got, want, p.outputs[1].text())
	}
}

func cmdWrite(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: write FILE TEXT")
	}
	name, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	name = ts.MkAbs(name)
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o777))
	ts.Check(os.WriteFile(name, []byte(args[1]+"\n"), 0o666))
}

func cmdMany(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: many DIR N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	for i := range n {
		ts.Check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("one-of-a-good-many-files-%06d.txt", i)), nil, 0o666))
	}
}
