package transport

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// seen is how many sockets the lookout has.
func (e *Endpoint) seen() int {
	l := &e.sockets.lookout
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.many
}

// Who came when the last had gone is seen like the first, also with the descriptor of another, and each way to go is seen.
func TestHTTPClientsAreSeenToGo(t *testing.T) {
	w := startWeb(t, nil, nil)
	for range 3 {
		for name, goes := range map[string]func(*net.TCPConn) error{
			"closes":        (*net.TCPConn).Close,
			"closes half":   (*net.TCPConn).CloseWrite,
			"resets":        func(c *net.TCPConn) error { return c.SetLinger(0) },
			"says too much": func(c *net.TCPConn) error { _, err := io.WriteString(c, strings.Repeat("x", mostHeard)); return err },
		} {
			c := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
			c.response()
			other := w.listen("2", onlyA)
			until(t, "both are seen", func() bool { return w.e.seen() == 2 })
			if err := goes(c.Conn.(*net.TCPConn)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if name == "resets" {
				c.Close()
			}
			until(t, "one that "+name+" is seen to go", func() bool { return w.hub.Len() == 1 && w.e.seen() == 1 && w.e.moorings() == 1 })
			w.hub.Publish(listen.Change{Keys: []string{a}})
			other.raw(updated("2", a))
			other.close()
			until(t, "so is the last", func() bool { return w.hub.Len() == 0 && w.e.seen() == 0 && w.e.moorings() == 0 })
		}
	}
}

// Who is not the endpoint can close a connection here, of which the system tells nothing, and another may have its descriptor
// before that is seen.
func TestHTTPConnectionsThatAreClosedHereAreSeenToGo(t *testing.T) {
	w := newWeb(t, listen.NewHub(nil), nil, &HTTPOptions{Keepalive: time.Hour})
	var mu sync.Mutex // guards conns
	var conns []net.Conn
	srv := httptest.NewUnstartedServer(w.handler())
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateHijacked {
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, c)
		}
	}
	serveAs(t, w, srv)
	closeAll := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
		conns = nil
	}
	const streams = 4
	open := func() {
		for range streams {
			w.rawPost("HTTP/1.1", listenTo("1", onlyA)).response()
		}
		until(t, "all are seen", func() bool { mu.Lock(); defer mu.Unlock(); return len(conns) == streams })
	}
	open()
	closeAll()
	until(t, "all have gone", func() bool { return w.hub.Len() == 0 && w.e.seen() == 0 && w.e.moorings() == 0 })
	for range 5 {
		open()
		closeAll()
	}
	open()
	until(t, "only the last are left", func() bool { return w.hub.Len() == streams && w.e.seen() == streams && w.e.moorings() == streams })
	closeAll()
	until(t, "so are the last", func() bool { return w.hub.Len() == 0 && w.e.seen() == 0 && w.e.moorings() == 0 })
}

// What the system refuses to tell of is to be waited for by somebody else, and leaves nothing behind.
func TestWhatCannotBeSeenIsNot(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "regular")) // of which there are no events
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var l lookout
	k := &socket{}
	if l.see(k) {
		t.Error("a connection without a descriptor is seen")
	}
	if k.raw, err = file.SyscallConn(); err != nil {
		t.Fatal(err)
	}
	if l.see(k) || l.lose(k) || l.epoll != nil || l.many != 0 {
		t.Error("a regular file is seen")
	}
	file.Close()
	if l.see(k) || l.lose(k) || l.epoll != nil {
		t.Error("what is closed is seen")
	}
}

// tedious is a connection at which a look takes longer than from one round to the next.
type tedious struct {
	syscall.RawConn
	begun bell // rung when a look begins
}

func (c tedious) Control(func(uintptr)) error {
	signal(c.begun)
	time.Sleep(round + round/4)
	return nil
}

// However long a round takes, what happens meanwhile is heard of after it.
func TestClientsAreSeenToGoThoughARoundTakesLong(t *testing.T) {
	w := startWeb(t, nil, &HTTPOptions{Keepalive: time.Hour})
	c := w.rawPost("HTTP/1.1", listenTo("1", onlyA))
	c.response()
	until(t, "it is seen", func() bool { return w.e.seen() == 1 })
	long := tedious{begun: make(bell, 1)}
	l := &w.e.sockets.lookout
	l.mu.Lock()
	l.seen = append(l.seen, &socket{of: &w.e.sockets, raw: long})
	l.mu.Unlock()
	<-long.begun
	c.Close()
	until(t, "it is seen to go", func() bool { return w.hub.Len() == 0 && w.e.seen() == 0 })
}

// What the runtime cannot wait for would tell nobody of anything.
func TestALookoutThatCannotBeWaitedForSeesNobody(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "regular")) // of which there are no events
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fd, err := unix.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	var l lookout
	if l.beginLocked(fd) || l.epoll != nil {
		t.Error("it is waited for")
	}
}
