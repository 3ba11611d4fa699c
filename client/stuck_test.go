package client

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// clogged is a connection on which one kind of message is not taken: Send waits for its context.
type clogged struct {
	wire.Conn
	clogs func(message string) bool
}

func (c *clogged) Send(ctx context.Context, message []byte) error {
	if c.clogs(string(message)) {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.Conn.Send(ctx, message)
}

func (f *fake) clog(c *Client, clogs func(message string) bool) {
	c.dial = func(ctx context.Context, t wire.Target, receive func(wire.Event)) (wire.Conn, error) {
		conn, err := f.dial(ctx, t, receive)
		return &clogged{conn, clogs}, err
	}
}

// A notification has no answer whose absence could be noticed: that it is not taken is.
func TestAServerThatDoesNotTakeANotificationIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.overHTTP, f.legacy = true, "2025-11-25"
		c := New(URL("http://fake.example/mcp"), Want{}, nil)
		f.clog(c, func(m string) bool { return strings.Contains(m, "notifications/initialized") })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var run sync.WaitGroup
		run.Go(func() { _ = c.Run(ctx) })
		within, done := context.WithTimeout(ctx, time.Minute)
		defer done()
		if e, err := c.Next(within); err != nil || e.Kind != Lost || !errors.Is(e.Err, ErrStalled) {
			t.Errorf("told %v %v, %v", e.Kind, e.Err, err)
		}
		stop()
		run.Wait()
	})
}

// A server that asks and takes no answers may not fill the memory with them.
func TestAServerThatAsksAndDoesNotTakeTheAnswersIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := New(Command("fake"), Want{}, nil)
		f.clog(c, func(m string) bool { return strings.Contains(m, `"result"`) })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var run sync.WaitGroup
		run.Go(func() { _ = c.Run(ctx) })
		synctest.Wait()
		f.do(func() {
			for range 2 * maxOwed {
				f.last().sayLocked("", map[string]any{"jsonrpc": "2.0", "id": "p", "method": "ping"})
			}
		})
		if e, err := c.Next(ctx); err != nil || e.Kind != Lost || !errors.Is(e.Err, ErrStalled) {
			t.Errorf("told %v %v, %v", e.Kind, e.Err, err)
		}
		stop()
		run.Wait()
	})
}

// With nothing to wait for the client waits: a deadline in the past would have it turn round and round.
func TestAClientThatNeverProbesSleeps(t *testing.T) {
	withLab(t, Want{}, Options{Probe: -1}, nil, func(l *lab) {
		l.expect("live 0 0 0")
		time.Sleep(3 * time.Hour)
		l.expect()
	})
}

func TestAReadThatIsNotAnsweredInTimeIsCancelled(t *testing.T) {
	withLab(t, Want{}, Options{}, func(f *fake) { f.mutesLocked("resources/read", 1) }, func(l *lab) {
		l.requests()
		if _, err := l.c.Read(l.t.Context(), "test://a"); !errors.Is(err, ErrStalled) {
			t.Errorf("Read: %v", err)
		}
		synctest.Wait()
		if log := strings.Join(l.requests(), ", "); !strings.Contains(log, "cancel 2") {
			t.Errorf("the server was asked %s", log)
		}
	})
}

// Options that mean nothing are as if they were not there.
func TestNegativeOptionsCountAsNone(t *testing.T) {
	o := Options{Timeout: -1, EraTimeout: -1, Close: -1, MaxURIs: -1, Grace: -1, PollMax: -1, MaxNotifications: -1, Backoff: Backoff{-1, -1, -1}}
	if got, want := o.withDefaults(false), (*Options)(nil).withDefaults(false); got.MaxURIs != want.MaxURIs || got.Backoff != want.Backoff ||
		got.Timeout != want.Timeout || got.EraTimeout != want.EraTimeout || got.Close != want.Close || got.Grace != want.Grace ||
		got.PollMax != want.PollMax || got.MaxNotifications != want.MaxNotifications {
		t.Errorf("they are %+v", got)
	}
	b := Backoff{Base: time.Second, Max: math.MaxInt64}
	for n := range 200 {
		if got := b.before(n+1, func(n int64) int64 { return n - 1 }); got < time.Second-1 {
			t.Fatalf("attempt %d: %v", n+1, got)
		}
	}
}

// A server that answers GET with a page, or not at all, announces nothing, and is not lost for that.
func TestAnEarlierServerWhoseStreamDoesNotOpenIsPolled(t *testing.T) {
	for _, why := range []error{wire.ErrNoStream, &wire.StatusError{Status: http.StatusNotImplemented}, context.DeadlineExceeded} {
		withLab(t, Want{URIs: []string{"test://a"}}, Options{}, func(f *fake) {
			f.overHTTP, f.legacy, f.followErr = true, "2025-11-25", why
			someFiles("a")(f)
		}, func(l *lab) {
			time.Sleep(time.Minute)
			l.expect("live 0 1 1")
		})
	}
}
