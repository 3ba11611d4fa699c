package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// A resource that is another each time is told no more often to who reads it when that is told, and was reading it during a look.
func TestAReadThatALookHasOvertakenMakesNoLooksWithoutEnd(t *testing.T) {
	for _, prepare := range []func(*fake){someFiles("a"), deaf("a")} {
		for _, want := range []Want{{URIs: []string{"test://a"}}, {URIs: []string{"test://a"}, Read: true}} {
			n := 0
			withLab(t, want, Options{}, func(f *fake) {
				prepare(f)
				f.lag = func() time.Duration { return 50 * time.Millisecond }
				f.mute = func(_ *fakeConn, r request) bool {
					if r.Method == "resources/read" {
						n++
						f.files["test://a"] = fmt.Sprint(n)
					}
					return false
				}
			}, func(l *lab) {
				ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
				defer stop()
				told, last := 0, time.Now().Add(2*time.Minute)
				for ctx.Err() == nil {
					next, end := context.WithTimeout(ctx, 130*time.Millisecond)
					e, err := l.c.Next(next)
					end()
					if err == nil && e.Kind == Updated && time.Now().After(last) {
						told++
					}
					if time.Now().Before(last) {
						l.write("test://a", "changed") // is under way while it is read
					}
					if err == nil && e.Kind == Updated || time.Now().Before(last) {
						if _, err := l.c.Read(ctx, "test://a"); err != nil && ctx.Err() == nil {
							t.Fatal(err)
						}
					}
				}
				if told > 100 { // in three minutes; it is polled every few seconds
					t.Errorf("%+v: told %d times", want, told)
				}
			})
		}
	}
}

// What several read at once is remembered again after a change.
func TestReadsAtOnceAreRememberedAgainAfterAChange(t *testing.T) {
	withLab(t, Want{URIs: []string{"test://a"}, Read: true}, Options{}, func(f *fake) {
		remembering("a")(f)
		f.lag = func() time.Duration { return 20 * time.Millisecond }
	}, func(l *lab) {
		time.Sleep(time.Second)
		ctx, stop := context.WithCancel(context.Background())
		var readers sync.WaitGroup
		for i := range 2 {
			readers.Go(func() {
				for ctx.Err() == nil {
					_, _ = l.c.Read(ctx, "test://a")
					time.Sleep(time.Duration(3+i) * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Second)
		l.write("test://a", "A")
		time.Sleep(10 * time.Second)
		l.requests()
		time.Sleep(10 * time.Second)
		if asked := len(l.requests()); asked > 0 {
			t.Errorf("its answers are fresh for an hour, and it was asked for %d times in 10 s", asked)
		}
		stop()
		readers.Wait()
	})
}
