//go:build unix

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

func ignoreTerminate() { signal.Ignore(syscall.SIGTERM) }

// requireGone waits until there is no process any more; one that nobody reaps is gone when init has reaped it.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func TestCloseAsksBeforeItKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a server is given")
	}
	t.Parallel()
	c, s := dial(t, command("obeys"))
	s.wait(t, method("obeys"))
	if err := c.Close(t.Context()); !errors.Is(err, ErrForced) || err.Error() != ErrForced.Error()+" (signal: terminated)" {
		t.Error(err)
	}
}

// TestCloseTellsThatACommandHadToBeAsked: also of one that then leaves in order.
func TestCloseTellsThatACommandHadToBeAsked(t *testing.T) {
	target := command("bows")
	target.Leave = time.Millisecond
	c, s := dial(t, target)
	s.wait(t, method("bows"))
	if err := c.Close(t.Context()); err != ErrForced {
		t.Error(err)
	}
}

// isZombie reports whether a process has ended and is to be reaped by one that is not us.
func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(text, []byte(") Z "))
}
