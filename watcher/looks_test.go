package watcher

import (
	"slices"
	"testing"
	"time"
)

// unsettled has the consumer call path unsettled whenever it is named without settled evidence.
func (l *lab) unsettled(path string) {
	l.each(func(b Batch) {
		if slices.ContainsFunc(b.Dirty, func(d Dirty) bool { return d.Path == path && d.Evidence&Settled == 0 }) {
			l.reply.Unsettled = []string{path}
		}
	})
}

func TestUnsettledNameIsToldAgain(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.tells("write f",
			"2ms f:content",
			"27ms f:settled")
	})
}

// A file that is written to without a pause has its second look all the same.
func TestBusyNameSettlesInTime(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		for range 8 {
			l.do("write f")
			l.idle(4 * time.Millisecond)
		}
		l.toldSince(start, "2ms f:content\n6ms f:content\n10ms f:content\n14ms f:content\n18ms f:content\n"+
			"22ms f:content\n26ms f:content\n27ms f:settled\n30ms f:content")
	})
}

// A name that was taken away and made again is as new as it was.
func TestNameMadeAgainSettlesAnew(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		l.do("write f")
		l.idle(20 * time.Millisecond)
		l.do("rm f; write f")
		l.idle(time.Second)
		l.toldSince(start, "2ms f:content\n22ms f:content|structure\n47ms f:settled")
	})
}

// A path that came back at its second look and went for good is settled when it has been away for long enough.
func TestNameThatWentForGoodAfterAll(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		l.do("rm f")
		l.idle(26 * time.Millisecond) // the window closed after 2 ms
		l.do("write f")
		l.idle(1500 * time.Microsecond) // there at the second look
		l.do("rm f")
		l.idle(time.Second)
		l.toldSince(start, "54.5ms f:content|structure|settled")
	})
}

// The name was made for a moment only: that it has gone is told once it has been away long enough.
func TestUnsettledNameThatGoes(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		l.do("write f")
		l.idle(10 * time.Millisecond)
		l.do("rm f")
		l.idle(time.Second)
		l.toldSince(start, "2ms f:content\n37ms f:structure|settled")
	})
}

// What comes and goes all the while is named, and never called settled.
func TestFlickeringNameIsNotSettled(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for range 40 {
			l.do("write f")
			l.idle(time.Millisecond)
			l.do("rm f")
			l.idle(9 * time.Millisecond)
		}
		told := l.hush()
		if len(told) < 3 {
			l.Fatalf("told %v", told)
		}
		for _, b := range told {
			if b.Dirty[0].Evidence&Settled != 0 {
				l.Errorf("settled at %v", b.at)
			}
		}
	})
}
