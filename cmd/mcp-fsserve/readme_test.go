//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readme is README.md with a copy of what it works on. Its commands run in the repository, but on the copy.
type readme struct {
	t      *testing.T
	work   string   // holds testdata/tree and bin
	blocks []string // the text of fenced blocks, by language: "console\n..." or "json\n..."
	set    string   // commands that set what its reader has set so far: all blocks but the servers' are typed into one shell
}

func openReadme(t *testing.T) *readme {
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	r := &readme{t: t, work: t.TempDir()}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+\n.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		r.blocks = append(r.blocks, m[1])
	}
	tree := filepath.Join(r.work, "testdata", "tree")
	must(t, os.CopyFS(tree, os.DirFS("../../testdata/tree")))
	untell(t, tree)
	return r
}

// untell takes back what a reader who followed the README has done to the tree.
func untell(t *testing.T, tree string) {
	must(t, os.RemoveAll(filepath.Join(tree, "new")))
	notes := filepath.Join(tree, "notes.md")
	text, err := os.ReadFile(notes)
	must(t, err)
	must(t, os.WriteFile(notes, []byte(strings.ReplaceAll(string(text), "one more line\n", "")), 0o644))
}

// consoles returns the blocks of commands and their output.
func (r *readme) consoles() (all []console) {
	for _, block := range r.blocks {
		if text, ok := strings.CutPrefix(block, "console\n"); ok {
			all = append(all, parseConsole(text))
		}
	}
	return all
}

// console is what a user types and what comes of it, in turn.
type console []exchange

type exchange struct {
	typed   string // with its prompts
	command string
	output  string
}

// parseConsole splits at the prompts: "$ " begins a command and "> " goes on with it.
func parseConsole(text string) (c console) {
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			c = append(c, exchange{typed: line, command: command})
			continue
		}
		last := &c[len(c)-1]
		if more, ok := strings.CutPrefix(line, "> "); ok && last.output == "" {
			last.typed += line
			last.command += more
		} else {
			last.output += line
		}
	}
	return c
}

// here is where README.md says its reader has the repository.
const here = "/home/you/mcp-fsserve/"

// shell prepares a command of README.md: in the repository, but for the tree, with what go install installs at hand.
func (r *readme) shell(script string) *exec.Cmd {
	tree := filepath.Join(r.work, "testdata", "tree")
	script = strings.NewReplacer("$PWD/testdata/tree", tree, "testdata/tree", tree).Replace(r.set + script)
	cmd := exec.Command("sh", "-uc", script) // to use what nobody has set is an error
	cmd.Dir = "../.."
	bin := filepath.Join(r.work, "bin")
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

var (
	anyTime    = regexp.MustCompile(`"lastModified":"[^"]*"`)
	anyVersion = regexp.MustCompile(`"name":"mcp-fsserve","version":"[^"]*"`)
)

// same replaces what differs from one machine to another by what README.md shows.
func (r *readme) same(output string) string {
	output = strings.ReplaceAll(output, r.work+"/", here)
	output = anyTime.ReplaceAllString(output, `"lastModified":"2026-07-28T09:00:00Z"`)
	return anyVersion.ReplaceAllString(output, `"name":"mcp-fsserve","version":"devel"`)
}

// TestReadmeCommandsDoWhatItSays runs every console block. The first three are one story, told in two terminals, and so are
// the two over HTTP.
func TestReadmeCommandsDoWhatItSays(t *testing.T) {
	r := openReadme(t)
	consoles := r.consoles()
	if len(consoles) < 4 {
		t.Fatalf("README.md has %d console blocks", len(consoles))
	}
	r.tellListening(consoles[0], consoles[1])
	served := false
	for i := 2; i < len(consoles); i++ {
		if strings.Contains(consoles[i][0].command, "--http ") {
			r.tellHTTP(consoles[i], consoles[i+1])
			served = true
			i++
			continue
		}
		r.run(consoles[i])
	}
	if !served {
		t.Error("README.md does not serve over HTTP")
	}
}

// tellListening starts the listener of the first block, does what the second does in another terminal, and compares
// the facts of the first, which come in no order across commands.
func (r *readme) tellListening(listener, other console) {
	t := r.t
	facts := strings.SplitAfter(strings.TrimSuffix(listener[0].output, "\n"), "\n")
	cmd := r.shell("exec " + listener[0].command) // so that the interrupt is for the listener alone
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-t.Context().Done(): // nobody listens any more
				return
			}
		}
	}()
	take := func() string {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("the listener ended")
			}
			return r.same(line)
		case <-time.After(5 * patience): // go run may have to build everything
			t.Fatal("the listener says nothing")
		}
		return ""
	}
	if got, want := take(), strings.TrimSuffix(facts[0], "\n"); got != want {
		t.Errorf("the listener began with %q, want %q", got, want)
	}
	r.run(other)
	missing := map[string]bool{}
	told := map[string]bool{} // what may be told again: on a busy machine a shell's redirection is two changes
	for _, fact := range facts[1:] {
		fact = strings.TrimSuffix(fact, "\n")
		missing[fact] = true
		told["updated "+fact[strings.LastIndexByte(fact, ' ')+1:]] = true
	}
	for len(missing) > 0 {
		line := take()
		if !missing[line] && !told[line] {
			t.Errorf("the listener said %s", line)
		}
		delete(missing, line)
	}
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) // as a terminal does
	for line := range lines {
		if !told[r.same(line)] {
			t.Errorf("the listener also said %s", line)
		}
	}
	_ = cmd.Wait() // go run ends with status 1 after an interrupt, whatever its program does
}

// tellHTTP starts the server of one block, on a port that is free, and runs the commands of the other, the last of which
// listens until it is ended: a touch is what it is told of.
func (r *readme) tellHTTP(serve, ask console) {
	t := r.t
	const port = "8080"
	cmd := r.shell("exec " + strings.ReplaceAll(serve[0].command, "--http "+port, "--http 0"))
	said := newLines(t, cmd.StderrPipe)
	must(t, cmd.Start())
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	line := said.next()
	free := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(line)
	if free == nil || strings.Replace(line, free[1], port, 1)+"\n" != serve[0].output {
		t.Fatalf("the server said %s, README.md has %s", line, serve[0].output)
	}
	for i := range ask {
		ask[i].command = strings.ReplaceAll(ask[i].command, "127.0.0.1:"+port, "127.0.0.1:"+free[1])
	}
	last := len(ask) - 1
	r.run(ask[:last])

	listener := r.shell("exec " + ask[last].command)
	told := newLines(t, listener.StdoutPipe)
	must(t, listener.Start())
	defer syscall.Kill(-listener.Process.Pid, syscall.SIGKILL)
	for i, want := range strings.SplitAfter(strings.TrimSuffix(ask[last].output, "\n"), "\n") {
		if i == 1 {
			must(t, r.shell("touch testdata/tree/notes.md").Run())
		}
		if got := told.next(); !shows(strings.TrimSuffix(want, "\n"), got) {
			t.Errorf("the stream said\n%s\nREADME.md says\n%s", got, want)
		}
	}
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	_ = listener.Wait() // with a status of its own, which is not ours to judge
}

// lines are those of an output that are not empty.
type lines struct {
	t   *testing.T
	all chan string // closed at the end
}

func newLines(t *testing.T, pipe func() (io.ReadCloser, error)) *lines {
	out, err := pipe()
	must(t, err)
	l := &lines{t, make(chan string, 100)}
	go func() {
		defer close(l.all)
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			if scanner.Text() != "" && scanner.Text() != ":" { // between two events, and a comment
				l.all <- scanner.Text()
			}
		}
	}()
	return l
}

func (l *lines) next() string {
	select {
	case line, ok := <-l.all:
		if !ok {
			l.t.Fatal("it ended too early")
		}
		return line
	case <-time.After(patience):
		l.t.Fatal("it says nothing")
	}
	return ""
}

var (
	assignment = regexp.MustCompile(`^\w+=.*\n$`)
	refusal    = regexp.MustCompile(`(?m)^\{"jsonrpc":"2\.0",("id":[^,]*,)?"error":`)
)

// run runs the commands of one block in one shell and compares the output of each.
func (r *readme) run(c console) {
	const mark = "--end of a command--\n"
	var script strings.Builder
	set := ""
	for i := range c {
		if c[i].command == "go test ./...\n" { // is running now
			c[i].command = ":\n"
			c[i].output = ""
		}
		script.WriteString(c[i].command + "echo '" + strings.TrimSuffix(mark, "\n") + "'\n")
		if assignment.MatchString(c[i].command) {
			set += c[i].command
		}
	}
	var stderr strings.Builder
	cmd := r.shell(script.String())
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		r.t.Fatalf("%s%v\n%s", script.String(), err, stderr.String())
	}
	r.set += set
	outputs := strings.Split(r.same(string(out)), mark)
	for i, e := range c {
		switch {
		case refusal.MatchString(outputs[i]): // nothing that README.md tells to type is wrong
			r.t.Errorf("$ %sis refused:\n%s", e.command, outputs[i])
		case shows(r.same(e.output), outputs[i]):
		case *update:
			r.replace(e.typed+e.output, e.typed+outputs[i])
		default:
			r.t.Errorf("$ %sprints\n%sREADME.md says\n%s", e.command, outputs[i], e.output)
		}
	}
}

// replace changes README.md.
func (r *readme) replace(old, new string) {
	text, err := os.ReadFile("../../README.md")
	must(r.t, err)
	must(r.t, os.WriteFile("../../README.md", []byte(strings.Replace(string(text), old, new, 1)), 0o666))
}

// shows reports whether text is output as README.md may show it: an answer can be broken into lines, all but the first
// indented, and have "…" for what is left out. An answer over HTTP does not end its line.
func shows(text, output string) bool {
	text, output = strings.TrimSuffix(text, "\n"), strings.TrimSuffix(output, "\n")
	if !strings.HasPrefix(output, "{") && !strings.HasPrefix(output, "data: {") {
		return text == output
	}
	parts := strings.Split(regexp.MustCompile(`\n +`).ReplaceAllString(text, ""), "…")
	rest, ok := strings.CutPrefix(output, parts[0])
	if len(parts) == 1 {
		return ok && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		ok, rest = ok && found, after
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

func TestShortenedAnswersAreStillCompared(t *testing.T) {
	const output = `{"a":1,"b":[2,3],"c":4}` + "\n"
	for text, want := range map[string]bool{
		`{"a":1,"b":[2,3],"c":4}`:           true,
		"{\"a\":1,\n  \"b\":[2,3],\"c\":4}": true,
		`{"a":1,…}`:                         true,
		`{…"b":[2,…],"c":4}`:                true,
		`{"a":1,"b":[2,3]}`:                 false,
		`{"a":1,…,"b":[3,…}`:                false,
		`{…"c":4,…"b":[2…}`:                 false,
		`{"a":2,…}`:                         false,
		`{…"c":5}`:                          false,
		`data: {"a":1,…}`:                   false,
	} {
		if shows(text+"\n", output) != want {
			t.Errorf("%s shows %s: want %t", text, output, want)
		}
	}
	if shows("…\n", "a\n") {
		t.Error("what is no answer can be left out")
	}
}

// TestReadmeConfigurationsStartTheServer reads the hosts' snippets and starts what each would start.
func TestReadmeConfigurationsStartTheServer(t *testing.T) {
	r := openReadme(t)
	found := 0
	for _, block := range r.blocks {
		text, ok := strings.CutPrefix(block, "json\n")
		if !ok {
			continue
		}
		var snippet map[string]map[string]struct {
			Type    string
			Command string
			Args    []string
			URL     string
			Headers map[string]string
		}
		must(t, json.Unmarshal([]byte(text), &snippet))
		for _, key := range []string{"mcpServers", "servers"} {
			for name, server := range snippet[key] {
				found++
				if server.Type == "http" {
					if !strings.HasSuffix(server.URL, webDefaults().path) || !strings.HasPrefix(server.Headers["Authorization"], "Bearer ") {
						t.Errorf("%s asks %s with %v", name, server.URL, server.Headers)
					}
					continue
				}
				if filepath.Base(server.Command) != "mcp-fsserve" || len(server.Args) == 0 {
					t.Fatalf("%s starts %s %q", name, server.Command, server.Args)
				}
				r.answers(server.Args)
			}
		}
	}
	if found < 2 {
		t.Errorf("README.md has %d configurations", found)
	}
}

// answers starts a server as a host does and expects it to answer initialize. The directories exist for it.
func (r *readme) answers(given []string) {
	t := r.t
	t.Setenv("HOME", r.work)
	var args []string
	for _, arg := range given {
		arg = strings.NewReplacer("${workspaceFolder}", filepath.Join(r.work, "project"), "/home/you", r.work).Replace(arg)
		args = append(args, arg)
		if at := strings.Index(arg, r.work); at >= 0 {
			must(t, os.MkdirAll(arg[at:], 0o777))
		}
	}
	stdin := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	var stdout strings.Builder
	if status := run(t.Context(), args, stdin, &stdout, io.Discard); status != 0 || !strings.Contains(stdout.String(), `"protocolVersion":"2025-11-25"`) {
		t.Errorf("mcp-fsserve %q: status %d, %s", args, status, stdout.String())
	}
}
