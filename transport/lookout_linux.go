package transport

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookout sees when clients send something or go: one goroutine for all connections that are sockets of the system, as long
// as there is one. Of a goroutine for each the stack alone is more than the rest of an idle stream.
type lookout struct {
	// mu guards what follows, and every sight. It is held for a few memory operations and system calls that do not block.
	mu    sync.Mutex
	epoll *os.File        // reports what happens to the connections, nil while none is seen
	ctl   syscall.RawConn // of epoll
	seen  []*socket       // who is seen, by descriptor
	many  int             // how many those are
}

// sight is the place of a socket in a lookout.
type sight struct {
	fd   int32
	seen bool
}

// see has a socket told what happens to its connection. It reports false where that cannot be.
func (l *lookout) see(k *socket) bool {
	if k.raw == nil {
		return false
	}
	seen, before := l.take(k)
	if before != nil {
		before.close(before.conn)
	}
	return seen
}

// take is see, and returns who had the descriptor before, if that was not lost yet: the connection was closed.
func (l *lookout) take(k *socket) (seen bool, before *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoll == nil && !l.openLocked() {
		return false, nil
	}
	// Meanwhile nobody can close the connection, so that the descriptor is that of no other.
	_ = k.raw.Control(func(fd uintptr) {
		_ = l.ctl.Control(func(set uintptr) {
			event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd)}
			if unix.EpollCtl(int(set), unix.EPOLL_CTL_ADD, int(fd), &event) == nil {
				before = l.putLocked(k, int(fd))
			}
		})
	})
	if l.many == 0 {
		l.closeLocked()
	}
	return k.sight.seen, before
}

func (l *lookout) putLocked(k *socket, fd int) (before *socket) {
	for len(l.seen) <= fd {
		l.seen = append(l.seen, nil)
	}
	before, l.seen[fd] = l.seen[fd], k
	k.sight = sight{int32(fd), true}
	l.many++
	return before
}

// openLocked begins to see.
func (l *lookout) openLocked() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return err == nil && l.beginLocked(fd)
}

// beginLocked has a goroutine wait for what an epoll tells, which keeps no thread meanwhile. It closes one that cannot be waited for
// in that way: the system may have no memory, or no watch, left for that.
func (l *lookout) beginLocked(fd int) bool {
	err := unix.SetNonblock(fd, true)
	if err != nil {
		_ = unix.Close(fd)
		return false
	}
	l.epoll = os.NewFile(uintptr(fd), "epoll")
	if l.ctl, err = l.epoll.SyscallConn(); err == nil {
		err = l.epoll.SetReadDeadline(time.Time{})
	}
	if err != nil {
		l.closeLocked()
		return false
	}
	go l.run(l.epoll, l.ctl)
	return true
}

func (l *lookout) closeLocked() {
	_ = l.epoll.Close()
	l.epoll, l.ctl, l.seen = nil, nil, nil
}

// lose lets go of a socket whose connection is closed. It reports whether that was seen until then.
func (l *lookout) lose(k *socket) (seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !k.sight.seen {
		return false
	}
	k.sight.seen = false
	if l.seen[k.sight.fd] == k { // else the descriptor is another's by now
		l.seen[k.sight.fd] = nil
	}
	if l.many--; l.many == 0 {
		l.closeLocked()
	}
	return true
}

// round is how often the lookout goes through all whom it sees: of a connection that was closed here, by who is not the endpoint,
// such as somebody who has it from http.Server.ConnState, the system tells nothing.
const round = time.Second

// run tells sockets what happens, until nobody is left.
func (l *lookout) run(epoll *os.File, ctl syscall.RawConn) {
	var events [128]unix.EpollEvent
	buf := make([]byte, 4<<10)
	var due time.Time
	for {
		if !time.Now().Before(due) {
			l.goRound(ctl)
			due = time.Now().Add(round)    // a read whose deadline is over hears nothing, so that it counts from here
			_ = epoll.SetReadDeadline(due) // it fails if it is closed, and so does the read
		}
		n := 0
		err := ctl.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events[:], 0)
			return n > 0
		})
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		for _, event := range events[:max(n, 0)] { // below that it has failed
			if k := l.at(ctl, int(event.Fd)); k != nil && k.hear(buf) {
				k.abort()
			}
		}
	}
}

// goRound ends the streams of connections that were closed here.
func (l *lookout) goRound(ctl syscall.RawConn) {
	for fd, most := 0, l.reach(ctl); fd < most; fd++ {
		if k := l.at(ctl, fd); k != nil && k.raw.Control(func(uintptr) {}) != nil {
			k.close(k.conn)
		}
	}
}

// reach is above all descriptors that are seen.
func (l *lookout) reach(ctl syscall.RawConn) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctl != ctl {
		return 0
	}
	return len(l.seen)
}

// at is who has a descriptor now: if that is another than the one to which something has happened he finds nothing.
func (l *lookout) at(ctl syscall.RawConn, fd int) *socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctl != ctl || fd >= len(l.seen) {
		return nil
	}
	return l.seen[fd]
}

// hear reads what has come, waits for no more, and reports whether the client is gone.
func (k *socket) hear(buf []byte) (gone bool) {
	err := k.raw.Read(func(fd uintptr) bool {
		for k.heard < mostHeard {
			n, err := unix.Read(int(fd), buf)
			switch {
			case err == unix.EINTR:
			case err == unix.EAGAIN:
				return true
			case err != nil || n == 0:
				gone = true
				return true
			default:
				k.heard += n
			}
		}
		gone = true
		return true
	})
	return gone || err != nil
}
