package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// needy are pipes of a system that has no descriptor for a connection while lacks is set.
type needy struct {
	*pipes
	lacks atomic.Pointer[syscall.Errno]
	tried atomic.Int64
}

func (s *needy) Accept() (net.Conn, error) {
	for {
		if lack := s.lacks.Load(); lack != nil {
			s.tried.Add(1)
			return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", *lack)}
		}
		conn, err := s.pipes.Accept()
		if err != nil || conn != nil {
			return conn, err
		}
	}
}

// lack makes descriptors scarce for some time, also for who waits in Accept.
func (s *needy) lack(what syscall.Errno, lasts time.Duration) {
	s.lacks.Store(&what)
	s.accepted <- nil
	time.Sleep(lasts)
	s.lacks.Store(nil)
	time.Sleep(2 * time.Second) // until the last retry
}

// TestWebSaysOnceThatDescriptorsAreShort: not at each of the retries, nor when they come and go, but again when it had been
// well.
func TestWebSaysOnceThatDescriptorsAreShort(t *testing.T) {
	dir := docsTree(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := &needy{pipes: &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}}
		var said strings.Builder
		ended := serveFrontInBubble(t, ctx, dir, &front{listener: s}, newLogger(&said, "text", "warn"))
		says := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(said.String(), "\n"); got != 2*want { // each with its hint
				t.Errorf("%s: it said\n%s", when, said.String())
			}
		}
		says("while all is well", 0)
		s.lack(syscall.EMFILE, 10*time.Minute)
		if n := s.tried.Load(); n < 100 {
			t.Errorf("%d retries", n)
		}
		says("when it had lasted", 1)
		s.lack(syscall.EMFILE, time.Second)
		says("when it came back soon", 1)
		time.Sleep(2 * time.Minute)
		s.lack(syscall.ENFILE, time.Second)
		says("when it came back later", 2)
		const hint = "mcp-fsserve: hint: raise the limit of open files, see ulimit -n, or lower --max-listens\n"
		want := "mcp-fsserve: warning: nobody else can connect for now: " + syscall.EMFILE.Error() + "\n" + hint +
			"mcp-fsserve: warning: nobody else can connect for now: " + syscall.ENFILE.Error() + "\n" + hint
		if said.String() != want {
			t.Errorf("it said\n%s", said.String())
		}
		for _, stray := range strayed {
			s.lack(stray, time.Second)
		}
		says("of what is one client's", 2)
		time.Sleep(2 * time.Minute)
		s.lack(syscall.ENOMEM, time.Second)
		const memory = "mcp-fsserve: warning: nobody else can connect for now: "
		if synctest.Wait(); said.String() != want+memory+syscall.ENOMEM.Error()+"\n" {
			t.Errorf("it said\n%s", said.String())
		}
		client, server := net.Pipe()
		s.accepted <- server
		must2(fmt.Fprint(client, "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
		must(t, err)
		if answer.StatusCode != http.StatusNoContent {
			t.Errorf("afterwards: status %d", answer.StatusCode)
		}
		client.Close()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}
