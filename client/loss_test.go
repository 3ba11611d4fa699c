package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

func TestAttemptsFollowTheBackOff(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) {
		f.dialErr = func(int) error { return errors.New("crashed at the start") }
	}, func(l *lab) {
		time.Sleep(3 * time.Minute)
		l.mu.Lock()
		defer l.mu.Unlock()
		var waits []string
		for i := 1; i < len(l.dials); i++ {
			waits = append(waits, l.dials[i].Sub(l.dials[i-1]).Round(time.Millisecond).String())
		}
		if got := strings.Join(waits, " "); got != "500ms 1s 2s 4s 8s 16s 30s 30s 30s 30s" {
			t.Errorf("the waits without jitter are %s", got)
		}
	})
}

func TestTheBackOffHasFullJitter(t *testing.T) {
	b := (&Options{}).withDefaults(false).Backoff
	for n, most := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 7: 30 * time.Second, 1000: 30 * time.Second} {
		if got := b.before(n, func(n int64) int64 { return n - 1 }); got != most-1 {
			t.Errorf("attempt %d: at most %v, want %v", n, got, most)
		}
		if got := b.before(n, func(int64) int64 { return 0 }); got != 50*time.Millisecond {
			t.Errorf("attempt %d: at least %v", n, got)
		}
	}
}

// A command that starts, answers and crashes before it has been live for long counts as one that never started.
func TestTheBackOffBeginsAnewOnlyAfterAWhileOfBeingLive(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, nil, func(l *lab) {
		for attempt, wait := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
			l.expect("live 0 0 0")
			time.Sleep(9 * time.Second)
			l.cut(errors.New("crashed"))
			l.expect(fmt.Sprint("lost ", attempt+1, " ", wait-1))
			time.Sleep(wait)
			synctest.Wait()
		}
		l.expect("live 0 0 0")
		time.Sleep(10 * time.Second)
		l.cut(errors.New("crashed"))
		l.expect("lost 1 499.999999ms")
	})
}

func TestRetryIsAskedWhetherToTryAgain(t *testing.T) {
	var asked []string
	retry := func(err error, attempts int) bool {
		asked = append(asked, fmt.Sprint(attempts, " ", err))
		return attempts < 3
	}
	withLab(t, Want{}, Options{Retry: retry}, func(f *fake) {
		f.dialErr = func(n int) error { return fmt.Errorf("%w %d", errGaveUp, n) }
	}, func(l *lab) {
		time.Sleep(time.Minute)
		l.expect("lost 2 999.999999ms")
		if _, err := l.c.Next(l.t.Context()); err != ErrStopped {
			t.Errorf("Next after the end: %v", err)
		}
		if _, err := l.c.Read(l.t.Context(), "test://a"); err != ErrStopped {
			t.Errorf("Read after the end: %v", err)
		}
		if err := l.c.Run(l.t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("a second Run: %v", err)
		}
		if got := strings.Join(asked, ", "); got != "1 connect: gave up 1, 2 connect: gave up 2, 3 connect: gave up 3" {
			t.Errorf("asked %s", got)
		}
	})
}

func TestAServerThatStallsIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		name, method string
		n            int // the first request of that method that is not answered
		after        time.Duration
		do           func(*lab)
	}{
		{"listen", "subscriptions/listen", 1, 20 * time.Second, nil},
		{"walk", "resources/list", 1, 20 * time.Second, nil},
		{"read", "resources/read", 1, time.Minute, nil},
		{"discover", "server/discover", 1, 25 * time.Second, func(l *lab) { l.do(func() { l.mutesLocked("initialize", 1) }) }},
		{"probe", "server/discover", 2, 50 * time.Second, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			withLab(t, Want{Listed: true, Read: true}, Options{}, func(f *fake) {
				f.files["test://a"] = "a"
				f.mute = func(conn *fakeConn, r request) bool {
					if r.Method == "initialize" && conn == f.conns[0] {
						return true
					}
					if r.Method != c.method || conn != f.conns[0] {
						return false
					}
					c.n--
					return c.n <= 0
				}
			}, func(l *lab) {
				began := time.Now()
				ctx, stop := context.WithTimeout(l.t.Context(), 5*time.Minute)
				defer stop()
				for {
					e, err := l.c.Next(ctx)
					if err != nil {
						t.Fatal("it is not given up")
					}
					if e.Kind != Lost {
						continue
					}
					if !errors.Is(e.Err, ErrStalled) || e.Graceful || time.Since(began) != c.after {
						t.Errorf("after %v: %v", time.Since(began), e.Err)
					}
					break
				}
				time.Sleep(time.Second)
				l.expect("live 1 1 0")
			})
		})
	}
}

func TestAServerThatIsHeardOfIsNotProbed(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}}, Options{}, nil, func(l *lab) {
		l.requests()
		for i := range 10 {
			time.Sleep(29 * time.Second)
			l.write("test://a", fmt.Sprint(i))
		}
		if log := l.requests(); len(log) > 0 {
			t.Errorf("the server was asked %q", log)
		}
		time.Sleep(31 * time.Second)
		if log := l.requests(); !slices.Equal(log, []string{"server/discover"}) {
			t.Errorf("after silence the server was asked %q", log)
		}
	})
}

// A stream over HTTP may be dead while the server answers: once keepalives have come they must go on.
func TestAStreamWithoutKeepalivesIsGivenUp(t *testing.T) {
	for _, keepalives := range []bool{true, false} {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) { f.overHTTP = true }, func(l *lab) {
			l.expect("live 0 1 0")
			id := l.listens()[0]
			for range 10 {
				time.Sleep(15 * time.Second)
				l.do(func() {
					if keepalives {
						l.last().emitLocked(wire.Event{Request: []byte(id)})
					}
				})
			}
			time.Sleep(59 * time.Second)
			l.expect()
			if keepalives {
				time.Sleep(time.Second)
				l.expect("lost 1 499.999999ms")
				return
			}
			time.Sleep(10*time.Minute - 150*time.Second - 59*time.Second)
			l.expect("lost 1 499.999999ms")
		})
	}
}

func TestAGracefulEndIsToldFromALoss(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(l *lab, c *fakeConn, id string)
		graceful bool
		err      string
	}{
		"completion": {func(l *lab, c *fakeConn, id string) {
			c.answerLocked([]byte(id), map[string]any{"resultType": "complete"})
		}, true, "the server ended a listen"},
		"cancelled by the server": {func(l *lab, c *fakeConn, id string) {
			c.notifyLocked("", "cancelled", map[string]any{"requestId": jsonNumber(id)})
		}, true, "the server ended a listen"},
		"left in order": {func(l *lab, c *fakeConn, id string) { c.cutLocked(nil) }, true, "the server ended"},
		"crashed": {func(l *lab, c *fakeConn, id string) { c.cutLocked(errors.New("exit status 3")) }, false,
			"the server ended: exit status 3"},
		"error in place of the result": {func(l *lab, c *fakeConn, id string) { c.failLocked([]byte(id), jsonrpc.Errorf(-32603, "oh")) }, false,
			"listen: oh (-32603)"},
		"torn message": {func(l *lab, c *fakeConn, id string) {
			c.emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte(` {"jsonrpc":"2.0","met`), Reason: "not valid JSON"}})
		}, false, "the server sent what is no message: not valid JSON: \" {\\\"jsonrpc\\\":\\\"2.0\\\",\\\"met\""},
		"torn batch": {func(l *lab, c *fakeConn, id string) {
			c.emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte(`[ {"jsonrpc"`), Reason: "not valid JSON"}})
		}, false, "the server sent what is no message: not valid JSON: \"[ {\\\"jsonrpc\\\"\""},
	} {
		t.Run(name, func(t *testing.T) {
			withLab(t, Want{List: true}, Options{}, nil, func(l *lab) {
				l.expect("live 0 0 0")
				id := l.listens()[0]
				l.do(func() { c.do(l, l.last(), id) })
				ctx, stop := context.WithTimeout(l.t.Context(), time.Second)
				defer stop()
				e, err := l.c.Next(ctx)
				if err != nil || e.Kind != Lost || e.Graceful != c.graceful || e.Err.Error() != c.err {
					t.Errorf("told %v %v %v, %v", e.Kind, e.Graceful, e.Err, err)
				}
				time.Sleep(time.Second)
				l.expect("live 0 0 0")
			})
		})
	}
}

func jsonNumber(id string) any { return atoi(id) }

func TestALineThatIsNoMessageIsSurvived(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		for _, line := range []string{"listening", "[info] listening", "[", ""} {
			l.do(func() {
				l.last().emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte(line), Reason: "not valid JSON"}})
			})
		}
		l.expect()
		if n := strings.Count(l.said.String(), "level=WARN"); n != 1 {
			t.Errorf("it said %s", l.said)
		}
	})
}

func TestWhatIsWrongFromTheStartIsNoLoss(t *testing.T) {
	for want, c := range map[string]*Client{
		"no server: neither a command":   New(Target{}, Want{}, nil),
		"not both":                       New(Target{Command: []string{"x"}, URL: "http://localhost"}, Want{}, nil),
		"begins with http://":            New(URL("ftp://me:s3cret@localhost/mcp"), Want{}, nil),
		"makes no sense":                 New(URL("http://me:s3cret@[::1/mcp"), Want{}, nil),
		"the command of the server":      New(Command(""), Want{}, nil),
		"an empty URI":                   New(Command("x"), Want{URIs: []string{""}}, nil),
		"is not valid UTF-8":             New(Command("x"), Want{URIs: []string{"test://\xff"}}, nil),
		"bytes long":                     New(Command("x"), Want{URIs: []string{strings.Repeat("x", 1<<17)}}, nil),
		"the specification knows":        New(Command("x"), Want{Extensions: map[string]jsonRaw{"toolsListChanged": jsonRaw("true")}}, nil),
		`com.example/x" is not valid`:    New(Command("x"), Want{Extensions: map[string]jsonRaw{"com.example/x": jsonRaw("{")}}, nil),
		"the extensions are 1048585 byt": New(Command("x"), Want{Extensions: map[string]jsonRaw{"big/big": jsonRaw(`"` + strings.Repeat("x", 1<<20-2) + `"`)}}, nil),
	} {
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run: %v, want %s", err, want)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error says what is secret: %v", err)
		}
		if _, err := c.Next(t.Context()); err != ErrStopped {
			t.Errorf("Next: %v", err)
		}
	}
}

func TestACommandThatIsNotThereIsALoss(t *testing.T) {
	var loss error
	c := New(Command("/nowhere/at/all"), Want{}, &Options{Retry: func(err error, _ int) bool { loss = err; return false }})
	if err := c.Run(t.Context()); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) || err != loss {
		t.Errorf("Run: %v, Retry was given %v", err, loss)
	}
}
