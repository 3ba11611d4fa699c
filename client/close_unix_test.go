//go:build unix

package client

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// A command that does not leave when its input ends is asked to by SIGTERM, and has time to clean up, before it is killed.
func TestACommandThatStaysIsAskedToLeaveBeforeItIsKilled(t *testing.T) {
	said, says, err := os.Pipe() // a file, so that no copying may be cut short when the command leaves
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	target := Command("/bin/sh", "-c", `trap 'echo cleaned >&2; exit 0' TERM; echo started >&2; while :; do sleep 0.02; done`)
	target.Stderr = says
	c := New(target, Want{}, &Options{Close: time.Millisecond})
	c.dial = func(ctx context.Context, t wire.Target, receive func(wire.Event)) (wire.Conn, error) {
		t.Heed = time.Hour // the trap runs when the machine has time for it
		return wire.Dial(ctx, t, receive)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); line != "started\n" {
		t.Errorf("it said %q, %v", line, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = says.Close()
	if rest, err := io.ReadAll(lines); !strings.HasSuffix(string(rest), "cleaned\n") {
		t.Errorf("it was killed at once: it said %q, %v", rest, err)
	}
}
