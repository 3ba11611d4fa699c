package watcher

import "time"

const (
	// secondLook is after how long a path is looked at again: editors that save with care leave a gap, and make names that do
	// not stay.
	secondLook = 25 * time.Millisecond
	// flickerMost is how long a path that comes and goes is held back. Otherwise one that happens to be absent at each look
	// would never be named.
	flickerMost = 100 * time.Millisecond
)

// looks holds the paths that get a second look: those that were dirty and did not exist, and those the consumer asked for. No
// path stays for longer than flickerMost, so there are no more than the windows of that time bring.
type looks struct {
	held map[string]look
	next time.Time // no entry is due before; zero when there are none
}

type look struct {
	evidence Evidence
	absent   bool      // nothing was there, so that something is news
	first    time.Time // when it was first held
	since    time.Time // when something last spoke against its being as it is
	due      time.Time
}

// last is when a path is named, whatever became of it meanwhile.
func (x look) last() time.Time { return x.first.Add(flickerMost) }

// settled is the evidence that a look at now adds, if nothing speaks against it then.
func (x look) settled(now time.Time) Evidence {
	if now.Sub(x.since) < secondLook {
		return 0
	}
	return Settled
}

func (l *looks) put(path string, x look) {
	if l.held == nil {
		l.held = map[string]look{}
	}
	l.held[path] = x
	l.next = earliest(l.next, x.due)
}

// hold has path, which does not exist, looked at again.
func (l *looks) hold(path string, e Evidence, now time.Time) {
	x, held := l.held[path]
	if !held {
		x.first = now
	}
	x.evidence |= e
	x.absent, x.since = true, now
	x.due = earliest(now.Add(secondLook), x.last())
	l.put(path, x)
}

// expect has paths looked at again because the consumer asks. The time of a path that is held already stands, or one that
// is written to all the while would never have its turn.
func (l *looks) expect(paths []string, now time.Time) {
	for _, path := range paths {
		if _, held := l.held[path]; !held {
			l.put(path, look{first: now, since: now, due: now.Add(secondLook)})
		}
	}
}

// keep puts back what take took out, as something speaks against its being settled: it is named at the last, unless a window has
// it before.
func (l *looks) keep(path string, x look, now time.Time) {
	x.since = now
	x.due = x.last()
	l.put(path, x)
}

// release takes path out if it was absent, because it exists, and returns the evidence that was held with it. One that the
// consumer called unsettled stays; if e says that it went and came again, its time begins anew.
func (l *looks) release(path string, e Evidence, now time.Time) Evidence {
	x, held := l.held[path]
	switch {
	case !held:
		return 0
	case x.absent:
		delete(l.held, path)
		return x.evidence
	case e&Structure != 0:
		x.since = now
		x.due = earliest(now.Add(secondLook), x.last())
		l.put(path, x)
	}
	return 0
}

// oldest is when the path was first held that is for longest, zero when none is.
func (l *looks) oldest() (t time.Time) {
	for _, x := range l.held {
		t = earliest(t, x.first)
	}
	return t
}

// take takes out every path whose time has come.
func (l *looks) take(now time.Time) map[string]look {
	if l.next.IsZero() || now.Before(l.next) {
		return nil
	}
	out := map[string]look{}
	l.next = time.Time{}
	for path, x := range l.held {
		if x.due.After(now) {
			l.next = earliest(l.next, x.due)
			continue
		}
		out[path] = x
		delete(l.held, path)
	}
	return out
}
