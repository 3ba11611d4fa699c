package watcher

import (
	"errors"
	"strings"
	"testing"
)

// TestRation runs a source short whose every file costs something: what it does not suffice for is polled, until it does.
func TestRation(t *testing.T) {
	r := &ration{}
	r.most(9)
	bubbleWith(t, Options{}, func(l *lab) {
		l.do("mkdir a; write a/f; write a/g; mkdir a/b; write a/b/f; mkdir c; write c/f; write c/g")
	}, func(open func() (source, error)) func() (source, error) {
		return func() (source, error) {
			src, err := open()
			s := newRationed(src, r)
			s.size = func(dir string) int { return len(src.(*modelSource).m.list(dir)) }
			return s, err
		}
	}, func(l *lab) {
		// The root costs 3, a 4; c would cost 3, and nothing is tried after that.
		if n := l.kernelWatches(); n != 2 || r.used != 7 {
			l.Errorf("%d are watched, for %d", n, r.used)
		}
		l.polls(2)
		l.logs(watchCure)
		l.do("write c/f; write a/b/f; rm a/f; rm a/g")
		l.found()
		r.most(20)
		l.idle(handoverEvery*11/10 + passIdle)
		l.polls(0)
		l.logs(watchCure, "every directory can be watched again")
		if n := l.kernelWatches(); n != 4 || r.used != 12 {
			l.Errorf("%d are watched, for %d", n, r.used)
		}
		l.do("rmr c")
		l.idle(5 * 1e9)
		if r.used != 9 {
			l.Errorf("%d are used", r.used)
		}
	})
	if r.used != 0 {
		t.Errorf("%d are used after the end", r.used)
	}
}

// The source says that it has run short by an error, as files come to directories that it watches. Each is added again then,
// and some no longer fit.
func TestRationThatGrows(t *testing.T) {
	r := &ration{}
	r.most(8)
	var inner *modelSource
	bubbleWith(t, Options{}, func(l *lab) {
		l.do("mkdir a; write a/f; mkdir b; write b/f")
	}, func(open func() (source, error)) func() (source, error) {
		return func() (source, error) {
			src, err := open()
			inner = src.(*modelSource)
			s := newRationed(src, r)
			s.size = func(dir string) int { return len(inner.m.list(dir)) }
			return s, err
		}
	}, func(l *lab) {
		l.polls(0)
		l.do("write a/g; write a/h; write b/g; write b/h")
		l.idle(1e9)
		inner.errs <- errors.New("too many open files")
		l.idle(1e9)
		l.consistent()
		l.polls(1)
		if r.used > 8 {
			l.Errorf("%d are used", r.used)
		}
		l.do("write a/f; write b/f")
		l.found()
		if !strings.Contains(l.log.String(), watchCure) {
			l.Errorf("logged\n%s", &l.log)
		}
	})
}
