package transport

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// Streams with much to say take turns, and no timer is between those of one.
func TestHTTPATurnIsFollowedByTheNext(t *testing.T) {
	w := newWeb(t, listen.NewHub(&listen.Options{UpdateInterval: -1}), nil, nil)
	serveOn(t, w)
	var uris []string
	for i := range 8 {
		uris = append(uris, fmt.Sprintf("test://top/%d%s", i, strings.Repeat("x", burst/4)))
	}
	s := w.listen("1", `"resourceSubscriptions":["`+strings.Join(uris, `","`)+`"]`)
	k := w.e.resting(t, 1)[0]
	sockets := k.of

	sockets.mu.Lock()
	sockets.workers += runtime.GOMAXPROCS(0) // the test is all of them
	before := k.due
	sockets.mu.Unlock()
	w.hub.Publish(listen.Change{Keys: uris})
	turn := newTurn()
	defer turn.drop()
	if sockets.first() != k || !k.turn(turn) {
		t.Fatal("the connection does not take the first burst")
	}
	sockets.release(k)
	sockets.mu.Lock()
	if !k.due.Equal(before) {
		t.Errorf("the next turn is to begin by a timer, %v from now", time.Until(k.due))
	}
	sockets.workers -= runtime.GOMAXPROCS(0) - 1
	sockets.mu.Unlock()
	sockets.work()
	for range uris {
		if _, ok := s.next(); !ok {
			t.Fatalf("the stream ends: %v", s.lines.Err())
		}
	}
}

// stalledLog is a handler of a log that does not take what is said of lost clients until it is let.
type stalledLog struct {
	waiting *atomic.Int64
	let     chan struct{} // closed when it takes that
}

func (stalledLog) Enabled(context.Context, slog.Level) bool { return true }

func (l stalledLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "stream is not taken" {
		l.waiting.Add(1)
		<-l.let
	}
	return nil
}

func (l stalledLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l stalledLog) WithGroup(string) slog.Handler      { return l }

// That a client is lost is logged, and whoever logs it keeps nobody else waiting.
func TestHTTPASlowLogKeepsNoOtherStreamWaiting(t *testing.T) {
	log := stalledLog{new(atomic.Int64), make(chan struct{})}
	w := startWeb(t, &Options{Logger: slog.New(log)}, nil)
	defer close(log.let)
	lost := 2 * runtime.GOMAXPROCS(0)
	for i := range lost {
		w.listen(fmt.Sprint(i), onlyA)
	}
	for _, k := range w.e.resting(t, lost) {
		if err := k.conn.(*net.TCPConn).CloseWrite(); err != nil { // which the lookout does not see
			t.Fatal(err)
		}
	}
	const b = "test://top/b"
	s := w.listen(`"other"`, `"resourceSubscriptions":["`+b+`"]`)
	w.hub.Publish(listen.Change{Keys: []string{a}})
	until(t, "each processor could log", func() bool { return log.waiting.Load() >= int64(runtime.GOMAXPROCS(0)) })
	told := make(chan struct{})
	go func() {
		defer close(told)
		s.next()
	}()
	w.hub.Publish(listen.Change{Keys: []string{b}})
	until(t, "the other is told", func() bool {
		select {
		case <-told:
			return true
		default:
			return false
		}
	})
}
