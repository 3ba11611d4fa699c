package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

func (l *lab) lostBy(want string) {
	l.t.Helper()
	ctx, stop := context.WithTimeout(l.t.Context(), time.Minute)
	defer stop()
	if e, err := l.c.Next(ctx); err != nil || e.Kind != Lost || e.Err.Error() != want {
		l.t.Errorf("told %s: %v, %v; want %s", inWords(e), e.Err, err, want)
	}
}

// TestACommandThatEndsIsLostByHowItHasLeft, though what it does not take any more is known before that. One that stays is
// lost all the same.
func TestACommandThatEndsIsLostByHowItHasLeft(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, someFiles("a"), func(l *lab) {
			l.expect("live 0 1 0")
			l.do(func() { l.last().deaf = true })
			l.set(Want{URIs: []string{"test://b"}})
			l.expect()
			if leaves {
				time.Sleep(4 * time.Second)
				l.cut(errors.New("exit status 3"))
				l.lostBy("the server ended: exit status 3")
				return
			}
			time.Sleep(endWithin)
			l.lostBy("listen: the connection to the server is closed")
		})
	}
}

// TestAReasonIsSaidOnce, and two that differ are both said.
func TestAReasonIsSaidOnce(t *testing.T) {
	for second, want := range map[int]string{
		404: "server/discover, and then initialize: the server answered with status 404 Not Found",
		405: "initialize: the server answered with status 405 Method Not Allowed (before that, server/discover: the server answered with status 404 Not Found)",
	} {
		withLab(t, Want{}, Options{}, func(f *fake) {
			f.overHTTP = true
			f.mute = func(c *fakeConn, r request) bool {
				status := second
				if r.Method == "server/discover" {
					status = http.StatusNotFound
				}
				c.emitLocked(wire.Event{Request: r.ID, Status: status, End: true, Err: &wire.StatusError{Status: status}})
				return true
			}
		}, func(l *lab) { l.lostBy(want) })
	}
}

// TestAnErrorToNothingIsSaidOnce, however many of them a server sends.
func TestAnErrorToNothingIsSaidOnce(t *testing.T) {
	withLab(t, Want{}, Options{}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		l.do(func() {
			for range 10 {
				l.last().emitLocked(wire.Event{Message: &wire.Message{Error: &Error{Code: -32700, Message: "what?"}}})
			}
		})
		l.says(1, "the server answered with an error to what it does not say")
	})
}

// TestALossSaysWhatWasAsked, also of what was asked only to see whether the server is there.
func TestALossSaysWhatWasAsked(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) { f.overHTTP = true }, func(l *lab) {
		l.expect("live 0 0 0")
		l.do(func() {
			l.mute = func(c *fakeConn, r request) bool {
				c.emitLocked(wire.Event{Request: r.ID, End: true, Err: io.EOF})
				return true
			}
		})
		time.Sleep(30 * time.Second)
		l.lostBy("server/discover: EOF")
	})
}

// TestWaitingForAnEndIsNoStall: that a command takes nothing any more was known at once, however short its Timeout is.
func TestWaitingForAnEndIsNoStall(t *testing.T) {
	withLab(t, Want{}, Options{Timeout: time.Second}, func(f *fake) {
		f.legacy = "2025-06-18"
		f.mute = func(c *fakeConn, r request) bool {
			c.deaf = r.Method == "initialize"
			return false
		}
	}, func(l *lab) {
		time.Sleep(endWithin)
		l.lostBy("notifications/initialized: the connection to the server is closed")
	})
}
