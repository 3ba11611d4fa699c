package main

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A server that is quick is asked at the rate, and no more often.
func TestAFixedRateIsKept(t *testing.T) {
	var answers atomic.Int64
	ch, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		answers.Add(1)
		_, _ = io.WriteString(w, "yes")
	})
	const rate = 100
	request := []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	start := time.Now()
	l, err := pressure(t.Context(), ch, [][]byte{request}, 3, effort{connections: 4, rate: rate, while: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(time.Since(start)*rate/time.Second) + 1; answers.Load() > most || l.requests < 4 {
		t.Errorf("of at most %d requests %d were made, and %d counted", most, answers.Load(), l.requests)
	}
}

// What a request takes begins when it is due: who is kept waiting by one that is slow is not forgotten.
func TestTimesOfAFixedRateBeginWhenRequestsAreDue(t *testing.T) {
	const work = 20 * time.Millisecond // of one request, on one connection
	ch, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(work)
		_, _ = io.WriteString(w, "late")
	})
	request := []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	l, err := pressure(t.Context(), ch, [][]byte{request}, 4, effort{connections: 1, rate: 1000, while: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	// Request n is due after n ms, and answered after n*work at the earliest.
	n := time.Duration(len(l.took))
	if least := n * (work - time.Millisecond); l.quantile(1) < least {
		t.Errorf("the last of %d requests took %v, which waited %v", n, l.quantile(1), least)
	}
}

// One that falls behind is measured all the same, but not without a word.
func TestAServerThatDoesNotKeepUpIsNamed(t *testing.T) {
	ch, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond)
		_, _ = io.WriteString(w, contents(smallContent))
	})
	b := &bench{scale: tiny, only: measures{"read1k-rate"}, sheet: newSheet(nil)}
	b.scale.rate, b.scale.while = 1000, 200*time.Millisecond
	b.measureRequests(t.Context(), peer{name: "slow"}, ch)
	if text := b.sheet.text(); !strings.Contains(text, "read 1 KiB, 1,000 a second: p99") || !strings.Contains(text, "of slow: it does not keep up") {
		t.Errorf("the tables say %s", text)
	}
	for _, c := range []struct {
		requests int
		while    time.Duration
		keepsUp  bool
	}{{100, time.Second, true}, {95, time.Second, true}, {80, time.Second, false}, {1, 20 * time.Millisecond, true}, {100, 2 * time.Second, false}} {
		if l := (load{requests: c.requests, wall: c.while}); l.keepsUp(100) != c.keepsUp {
			t.Errorf("that %d of 100 a second in %v is to keep up is %v", c.requests, c.while, !c.keepsUp)
		}
	}
}
