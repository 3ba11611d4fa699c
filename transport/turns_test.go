package transport

import (
	"fmt"
	"runtime"
	"strings"
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
