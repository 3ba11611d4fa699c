package watcher

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func (l *lab) wantStats(want Stats) {
	l.Helper()
	got := l.Stats()
	got.Batches = min(got.Batches, want.Batches) // how many windows it takes is not for this test
	if got != want {
		l.Errorf("%+v, not %+v", got, want)
	}
}

func TestStats(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir c; chmod 1 c") }, func(l *lab) {
		closed := string(closedBegins) + ": permission denied: " + permissionCure
		l.wantStats(Stats{Mode: Native, Watches: 3, Batches: 1, Rescans: 1, LastError: closed, LastErrorAt: l.began})
		l.do("write f")
		l.idle(time.Second)
		l.wantStats(Stats{Mode: Native, Watches: 3, Batches: 2, Rescans: 1, LastError: closed, LastErrorAt: l.began})
		l.fail(nil, nil, 3)
		l.do("mkdir d; mkdir e")
		l.idle(time.Second)
		at := l.began.Add(time.Second + quiet)
		full := string(watchesFail) + ": " + errLimit.Error() + ": no space left on device"
		l.wantStats(Stats{Mode: Mixed, Watches: 3, Polled: 2, Batches: 3, Rescans: 3, LastError: full, LastErrorAt: at})
		l.fail(nil, nil, 0)
		l.idle(time.Minute)
		l.wantStats(Stats{Mode: Native, Watches: 5, Batches: 3, Rescans: 3, LastError: full, LastErrorAt: at})
		l.limitQueue(1)
		at = time.Now()
		l.do("write f; write g; write f; write g")
		l.idle(time.Second)
		got := l.Stats()
		if got.Overflows == 0 || got.Repairs == 0 || !strings.HasPrefix(got.LastError, string(lossBegins)) || got.LastErrorAt.Sub(at) > time.Second {
			l.Errorf("%+v", got)
		}
	})
}

// TestStatsBeforeRun: there are some, and they say that nothing is watched.
func TestStatsBeforeRun(t *testing.T) {
	for poll, want := range map[bool]Mode{false: Native, true: Polling} {
		w, err := New(t.TempDir(), &Options{Poll: poll})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := w.Stats(), (Stats{Mode: want}); got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
}

func TestMode(t *testing.T) {
	for _, c := range []struct {
		watches, polled int
		want            Mode
	}{{0, 0, Native}, {3, 0, Native}, {0, 3, Polling}, {1, 2, Mixed}} {
		if got := modeOf(c.watches, c.polled); got != c.want {
			t.Errorf("%d watches and %d polled are %q, not %q", c.watches, c.polled, got, c.want)
		}
	}
}

// TestStatsAreOneGroup of the log, which every handler can write.
func TestStatsAreOneGroup(t *testing.T) {
	for _, c := range []struct {
		Stats
		want string
	}{
		{Stats{Mode: Native, Watches: 2, Batches: 3}, "[mode=native watches=2 polled=0 batches=3 rescans=0 overflows=0 repairs=0]"},
		{
			Stats{Mode: Mixed, Polled: 1, Rescans: 4, Overflows: 5, Repairs: 6, LastError: "why", LastErrorAt: time.Unix(0, 0).UTC()},
			"[mode=mixed watches=0 polled=1 batches=0 rescans=4 overflows=5 repairs=6 last_error=why last_error_at=1970-01-01 00:00:00 +0000 UTC]",
		},
	} {
		if got := slog.AnyValue(c.Stats).Resolve().String(); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}
