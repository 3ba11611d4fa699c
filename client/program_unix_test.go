//go:build unix

package client

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
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
)

var (
	programSeed   = flag.Uint64("program.seed", 1, "the seed of the tests of the real program")
	programRounds = flag.Int("program.rounds", 6, "how many faults each of them makes")
)

// patience bounds every wait for the program: only a fault of it reaches it.
const patience = 60 * time.Second

// impatient finds out soon that a server has stalled. A server that is only slow is then taken for one that has, which must
// not matter.
func impatient(log io.Writer) *Options {
	return &Options{
		Timeout: 3 * time.Second, EraTimeout: 2 * time.Second, Probe: time.Second, Close: time.Second, Grace: 200 * time.Millisecond,
		Idle: 3 * time.Second, Spare: 3, Log: slog.New(slog.NewTextHandler(log, nil)),
		Backoff: Backoff{Base: 20 * time.Millisecond, Max: 300 * time.Millisecond, Reset: time.Second},
	}
}

// site is a directory that is served, and what does harm to its server.
type site struct {
	t    *testing.T
	rnd  *rand.Rand
	root string
	n    int // of versions
	harm []harm
}

type harm struct {
	name string
	do   func()
}

func newSite(t *testing.T) *site {
	s := &site{t: t, rnd: rand.New(rand.NewPCG(*programSeed, 7)), root: filepath.Join(t.TempDir(), "root")}
	if err := os.Mkdir(s.root, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// scribble changes some files.
func (s *site) scribble() {
	for range 1 + s.rnd.IntN(12) {
		dir := filepath.Join(s.root, []string{"", "one", "two"}[s.rnd.IntN(3)])
		s.must(os.MkdirAll(dir, 0o755))
		name := filepath.Join(dir, fmt.Sprintf("file%d.txt", s.rnd.IntN(8)))
		s.n++
		text := []byte(fmt.Sprintf("version %d", s.n))
		switch s.rnd.IntN(5) {
		case 0:
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				s.t.Fatal(err)
			}
		case 1:
			s.must(os.WriteFile(name+"~", text, 0o644))
			s.must(os.Rename(name+"~", name))
		case 2:
			if s.rnd.IntN(4) == 0 {
				s.must(os.RemoveAll(dir))
				s.must(os.MkdirAll(dir, 0o755))
			}
		default:
			s.must(os.WriteFile(name, text, 0o644))
		}
	}
}

// disk is what there is, by URI.
func (s *site) disk() map[string]string {
	files := map[string]string{}
	s.must(filepath.WalkDir(s.root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(s.root, path)
		files["test://"+rel] = string(text)
		return err
	}))
	return files
}

func viewOf(c *Client) map[string]string {
	files := map[string]string{}
	for _, r := range c.Resources() {
		files[r.URI] = textOf(c.Contents(r.URI))
	}
	return files
}

// keepsUp does harm again and again while files change, and expects the view to be the disk each time.
func (s *site) keepsUp(c *Client, said fmt.Stringer) {
	s.scribble()
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	told := s.awaitView(c, said, "at the start", nil)
	for i := range *programRounds {
		harm := s.harm[s.rnd.IntN(len(s.harm))]
		if i < len(s.harm) {
			harm = s.harm[i]
		}
		s.scribble()
		harm.do()
		s.scribble()
		told = s.awaitView(c, said, harm.name, told)
	}
	stop()
	if err := <-ran; err != nil {
		s.t.Errorf("Run: %v", err)
	}
	if strings.Contains(said.String(), "panic") {
		s.t.Errorf("it said %s", said)
	}
}

// awaitView takes what is told until the client is live and knows what is on the disk.
func (s *site) awaitView(c *Client, said fmt.Stringer, after string, told []string) []string {
	s.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for !c.Status().Live || !maps.Equal(viewOf(c), s.disk()) {
		e, err := c.Next(ctx)
		if err != nil {
			view, disk := viewOf(c), s.disk()
			for _, uri := range slices.Sorted(maps.Keys(disk)) {
				if view[uri] != disk[uri] {
					s.t.Errorf("%s: the view has %q, the disk %q", uri, view[uri], disk[uri])
				}
			}
			for _, uri := range slices.Sorted(maps.Keys(view)) {
				if _, ok := disk[uri]; !ok {
					s.t.Errorf("%s is in the view only", uri)
				}
			}
			s.t.Fatalf("%s: %v; status %+v\ntold %s\nsaid %s", after, err, c.Status(), strings.Join(told, "\n"), said)
		}
		told = append(told, fmt.Sprintf("%s %s %v", time.Now().Format("05.000"), inWords(e), e.Err))
	}
	return told
}

// lockedBuffer is a writer that many may use.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestTheViewIsTheDiskWhateverHappensToTheCommand kills, stops and replaces the command.
func TestTheViewIsTheDiskWhateverHappensToTheCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := filepath.Dir(s.root)
	script, pidFile := filepath.Join(dir, "serve"), filepath.Join(dir, "pid")
	replace := func(text string) {
		s.must(os.WriteFile(script+"~", []byte(text), 0o755))
		s.must(os.Rename(script+"~", script))
	}
	serve := fmt.Sprintf("echo $$ >'%s~' && mv '%[1]s~' '%[1]s'\nexec '%s' --uri-base test:// '%s'\n", pidFile, binary, s.root)
	replace(serve)
	pid := func() int {
		text, err := os.ReadFile(pidFile)
		if err != nil {
			return 0 // it has not started yet
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		s.must(err)
		return n
	}
	signal := func(sig syscall.Signal) {
		if n := pid(); n > 0 {
			_ = syscall.Kill(n, sig) // it may have left
		}
	}
	s.harm = []harm{
		{"killed", func() { signal(syscall.SIGKILL) }},
		{"stopped", func() { signal(syscall.SIGSTOP) }},
		{"ended in order", func() { signal(syscall.SIGTERM) }},
		{"replaced by one that crashes at the start", func() {
			replace("exit 3\n")
			signal(syscall.SIGKILL)
			s.scribble()
			time.AfterFunc(time.Duration(s.rnd.IntN(1000))*time.Millisecond, func() { replace(serve) })
		}},
		{"replaced by one that says nothing", func() {
			replace("exec sleep 1000\n")
			signal(syscall.SIGKILL)
			time.AfterFunc(time.Duration(s.rnd.IntN(1000))*time.Millisecond, func() { replace(serve) })
		}},
		{"left alone", func() {}},
	}
	said := &lockedBuffer{}
	target := Command("sh", script)
	target.Stderr = said
	s.keepsUp(New(target, Want{Listed: true, Read: true}, impatient(said)), said)
}

// proxy passes on what clients and a server say to each other, as long as it is let.
type proxy struct {
	l net.Listener

	mu      sync.Mutex // guards what follows
	to      string     // empty: nobody is there
	conns   map[net.Conn]bool
	stalled chan struct{} // closed when it goes on; nil while it does
	workers sync.WaitGroup
}

func newProxy(t *testing.T) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, conns: map[net.Conn]bool{}}
	p.workers.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.stall(false)
		p.cut(0)
		p.workers.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		p.workers.Go(func() { p.join(in) })
	}
}

func (p *proxy) join(in net.Conn) {
	defer in.Close()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	p.mu.Lock()
	p.conns[in], p.conns[out] = true, true
	p.mu.Unlock()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		p.workers.Go(func() {
			p.pass(way[0], way[1])
			ended <- struct{}{}
		})
	}
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, in)
	delete(p.conns, out)
}

// pass copies in small pieces, so that a cut falls into the middle of an event.
func (p *proxy) pass(from, to net.Conn) {
	piece := make([]byte, 100)
	for {
		n, err := from.Read(piece)
		p.mu.Lock()
		stalled := p.stalled
		p.mu.Unlock()
		if stalled != nil {
			<-stalled
		}
		if n > 0 {
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.stalled == nil:
		p.stalled = make(chan struct{})
	case !on && p.stalled != nil:
		close(p.stalled)
		p.stalled = nil
	}
}

// cut closes connections, one out of every n, all if n is 0.
func (p *proxy) cut(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := 0
	for c := range p.conns {
		if i++; n == 0 || i%n == 0 {
			c.Close()
		}
	}
}

var listeningAt = regexp.MustCompile(`listening url=http://(\S+)/mcp`)

// TestTheViewIsTheDiskWhateverHappensOverHTTP kills and stops the server, and has a proxy cut and stall what passes.
func TestTheViewIsTheDiskWhateverHappensOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := newProxy(t)
	server := &webServer{s: s}
	p.to = server.start()
	restart := func() {
		address := server.start()
		p.mu.Lock()
		p.to = address
		p.mu.Unlock()
	}
	s.harm = []harm{
		{"killed and restarted", func() { server.kill(); s.scribble(); restart() }},
		{"all cut", func() { p.cut(0) }},
		{"some cut in the middle of a stream", func() { p.cut(2) }},
		{"stopped and killed", func() {
			s.must(server.cmd.Process.Signal(syscall.SIGSTOP))
			s.scribble()
			time.Sleep(time.Duration(s.rnd.IntN(5000)) * time.Millisecond) // it matters when, not that
			server.kill()
			restart()
		}},
		{"stalled by the proxy", func() {
			p.stall(true)
			time.AfterFunc(time.Duration(s.rnd.IntN(5000))*time.Millisecond, func() { p.stall(false) })
		}},
		{"ended in order", func() { s.must(server.cmd.Process.Signal(syscall.SIGTERM)); <-server.ended; restart() }},
	}
	said := &lockedBuffer{}
	target := URL("http://" + p.l.Addr().String() + "/mcp")
	s.keepsUp(New(target, Want{Listed: true, Read: true}, impatient(said)), said)
	server.kill()
}

// webServer is the program serving HTTP.
type webServer struct {
	s     *site
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has left
}

// start returns the address.
func (w *webServer) start() string {
	said, in := io.Pipe()
	w.cmd = exec.Command(binary, "--http", "127.0.0.1:0", "--keepalive", "1s", "--uri-base", "test://", w.s.root)
	w.cmd.Stderr = in
	w.s.must(w.cmd.Start())
	cmd, ended := w.cmd, make(chan struct{})
	w.ended = ended
	w.s.t.Cleanup(w.kill)
	go func() {
		_ = cmd.Wait() // it is killed
		in.Close()
		close(ended)
	}()
	var text []byte
	piece := make([]byte, 1024)
	for {
		n, err := said.Read(piece)
		text = append(text, piece[:n]...)
		if m := listeningAt.FindSubmatch(text); m != nil {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return string(m[1])
		}
		if err != nil {
			w.s.t.Fatalf("the server said %s", text)
		}
	}
}

func (w *webServer) kill() {
	_ = w.cmd.Process.Kill() // it may have left
	<-w.ended
}
