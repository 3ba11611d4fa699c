package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// inProc returns what the kernel shows of the server's process.
func (s *webServer) inProc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), name)
}

// descriptors is how many the server has open.
func (s *webServer) descriptors() int {
	s.t.Helper()
	entries, err := os.ReadDir(s.inProc("fd"))
	must(s.t, err)
	return len(entries)
}

// connections is how many sockets the server has open besides the one that listens.
func (s *webServer) connections() (n int) {
	s.t.Helper()
	entries, err := os.ReadDir(s.inProc("fd"))
	must(s.t, err)
	for _, entry := range entries {
		what, err := os.Readlink(filepath.Join(s.inProc("fd"), entry.Name()))
		if err == nil && strings.HasPrefix(what, "socket:") { // else it has just been closed
			n++
		}
	}
	return n - 1
}

// resident is the memory of the server in KiB.
func (s *webServer) resident() int { return processStatus(s.t, s.cmd.Process.Pid, "VmRSS") }

// untilAsFew waits until the server has no more descriptors than before.
func (s *webServer) untilAsFew(before int) {
	s.t.Helper()
	for late := time.Now().Add(patience); s.descriptors() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			s.t.Fatalf("%d descriptors, %d before", s.descriptors(), before)
		}
	}
}

// link is a connection as the kernel shows it.
type link struct {
	open           bool // at the server's end
	unsent, unread int  // bytes that the server has handed over and the client has not, and those that wait for the client to read
}

// link looks at the connection of a client.
func (s *webServer) link(client net.Conn) (l link) {
	s.t.Helper()
	at, err := url.Parse(s.url)
	must(s.t, err)
	_, server, err := net.SplitHostPort(at.Host)
	must(s.t, err)
	_, own, err := net.SplitHostPort(client.LocalAddr().String())
	must(s.t, err)
	hex := func(port string) string { return fmt.Sprintf(":%04X", number(s.t, port)) }
	text, err := os.ReadFile("/proc/net/tcp")
	must(s.t, err)
	const established = "01"
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch { // number, local, remote, state, unsent:unread
		case strings.HasSuffix(f[1], hex(server)) && strings.HasSuffix(f[2], hex(own)):
			l.open, l.unsent = f[3] == established, fromHex(f[4][:8])
		case strings.HasSuffix(f[1], hex(own)) && strings.HasSuffix(f[2], hex(server)):
			l.unread = fromHex(f[4][9:])
		}
	}
	return l
}

func fromHex(text string) int {
	n, _ := strconv.ParseInt(text, 16, 64) // the kernel wrote it
	return int(n)
}

// stalledListen opens a listen to dir, which fs://docs/ serves, and reads nothing. It listens under so many long spellings
// that each change in dir is many times what the kernel holds.
func (s *webServer) stalledListen(dir string) net.Conn {
	s.t.Helper()
	var uris []string
	for i := range 400 {
		var spelt strings.Builder
		for at, c := range []byte(dir) {
			if at < 9 && i>>at&1 == 1 {
				spelt.WriteByte(c)
			} else {
				fmt.Fprintf(&spelt, "%%%02X", c)
			}
		}
		uris = append(uris, "fs://docs/"+spelt.String()+"/")
	}
	conn, err := s.dial(4 << 10)
	must(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	_, err = conn.Write(listenRequest(false, uris...))
	must(s.t, err)
	return conn
}

// untilFull has change called until the server can send a client no more: the kernel holds what it did three changes ago.
func (s *webServer) untilFull(client net.Conn, change func()) (full link) {
	s.t.Helper()
	same := 0
	for late := time.Now().Add(patience); same < 3 || full.unsent == 0 || full.unread == 0; {
		if time.Now().After(late) {
			s.t.Fatalf("the way to the client is never full: %+v", full)
		}
		change()
		before := full
		full = s.link(client)
		if same++; full != before {
			same = 0
		}
	}
	return full
}

// untilGivenUp has meanwhile called until the server has ended the connection of a client.
func (s *webServer) untilGivenUp(client net.Conn, meanwhile func()) {
	s.t.Helper()
	for late := time.Now().Add(patience); s.link(client).open; meanwhile() {
		if time.Now().After(late) {
			s.t.Fatalf("the connection is still open: %+v", s.link(client))
		}
	}
}
