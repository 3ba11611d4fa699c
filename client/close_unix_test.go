//go:build unix

package client

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A command that does not leave when its input ends is asked to by SIGTERM, and has time to clean up, before it is killed.
func TestACommandThatStaysIsAskedToLeaveBeforeItIsKilled(t *testing.T) {
	dir := t.TempDir()
	target := Command("/bin/sh", "-c", `trap 'echo > cleaned; exit 0' TERM; : > started; while :; do sleep 0.02; done`)
	target.Dir = dir
	c := New(target, Want{}, &Options{Close: 300 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	for until := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cleaned")); err != nil {
		t.Error("it was killed at once:", err)
	}
}
