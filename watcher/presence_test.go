package watcher

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// said returns the messages that were logged since it was last asked, each with its error if it had one.
func (l *lab) said() (lines []string) {
	text := l.log.String()
	news := text[l.heard:]
	l.heard = len(text)
	for line := range strings.Lines(news) {
		_, msg, _ := strings.Cut(line, `msg="`)
		msg, rest, _ := strings.Cut(msg, `"`)
		if _, err, ok := strings.Cut(rest, `err="`); ok {
			err, _, _ = strings.Cut(err, `"`)
			msg += ": " + err
		}
		lines = append(lines, msg)
	}
	return lines
}

// says compares that, but for what is said of mounts.
func (l *lab) says(want ...string) {
	l.Helper()
	got := slices.DeleteFunc(l.said(), func(s string) bool { return s == string(mountsChanged) })
	if !slices.Equal(got, want) {
		l.Errorf("said %q, not %q", got, want)
	}
}

// TestRootIsTold: whatever happens to the root is found within two seconds, and said once.
func TestRootIsTold(t *testing.T) {
	const file, dir, link = "write .", "mkdir .; mkdir new; write new/f", "ln ../elsewhere ."
	for _, c := range []struct{ name, away, back string }{
		{"removed", "rmr .", dir},
		{"moved", "mv . ../moved", "mv ../moved ."},
		{"moved, and another comes", "mv . ../moved", dir},
		{"replaced by a file", "mv . ../moved; " + file, "rm .; mv ../moved ."},
		{"replaced by a link that dangles", "mv . ../moved; " + link, "mkdir ../elsewhere; write ../elsewhere/g"},
		{"ancestor moved", "mv .. ../../moved", "mv ../../moved .."},
		{"ancestor mounted over", "mount ..", "umount .."},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
				for range 2 {
					l.do(c.away)
					l.idle(mountMost)
					l.consistent()
					l.watches()
					l.idle(time.Minute)
					l.says(string(rootGone))
					l.do(c.back)
					l.idle(mountMost)
					l.idle(time.Minute)
					l.says(string(rootBack))
					if strings.Contains(c.away, link) { // the consumer does not follow it
						l.watches("")
						break
					}
					l.tells("write f; rm f", "27ms f:content|structure|settled")
					if c.back == dir {
						break
					}
				}
			})
		})
	}
}

// TestRootThatCannotBeRead: it is told, as is that it can again, also when no event tells because it was an ancestor.
func TestRootThatCannotBeRead(t *testing.T) {
	denied := string(rootBarred) + ": permission denied: " + permissionCure
	for _, c := range []struct{ away, back string }{
		{"chmod 1 .", "chmod 0 ."},
		{"chmod 2 .", "chmod 0 ."},
		{"chmod 2 ..", "chmod 0 .."},
		{"chmod 3 .; chmod 2 ..", "chmod 0 ..; chmod 0 ."},
	} {
		t.Run(c.away, func(t *testing.T) {
			bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
				for range 2 {
					l.hush()
					l.do(c.away)
					l.idle(mountMost)
					if told := l.hush(); len(told) == 0 || !slices.Contains(told[0].Rescan, "") {
						l.Errorf("told %v", told)
					}
					l.idle(time.Minute)
					l.says(denied)
					l.hush()
					l.do(c.back)
					l.idle(mountMost)
					if told := l.hush(); len(told) == 0 || !slices.Contains(told[0].Rescan, "") {
						l.Errorf("told %v", told)
					}
					l.consistent()
					l.watches("", "a")
					l.idle(time.Minute)
					l.says(string(rootBack))
				}
			})
		})
	}
}

// It can be read again, and nothing tells.
func TestRootThatCanBeReadWithoutAnEvent(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Minute} { // slow scans go over it from 10 s on
		bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
			l.do("chmod 1 .")
			l.idle(after)
			l.hush()
			l.silently(func() { l.do("chmod 0 .") })
			l.idle(mountMost)
			if told := l.hush(); len(told) == 0 || !slices.Equal(told[0].Rescan, []string{""}) {
				l.Errorf("told %v", told)
			}
			l.consistent()
		})
	}
}

// A watcher that ends says nothing of what it had no time to find out.
func TestRootIsNotGoneAtTheEnd(t *testing.T) {
	w, err := New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	w.voice.log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx, func(Batch) Reply { return Reply{} }); err != nil || log.String() != "" {
		t.Errorf("%v, logged:\n%s", err, &log)
	}
}

// A root that is there when looked at again was never gone, and of one that was never there whoever started it knows.
func TestRootThatIsReplacedIsNotGone(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		l.do("rmr .; mkdir .; mkdir b")
		l.idle(time.Minute)
		l.consistent()
		l.says()
	})
	bubble(t, Options{}, func(l *lab) { l.do("rm .") }, func(l *lab) {
		l.idle(time.Minute)
		l.says()
		l.do("mkdir .")
		l.idle(mountMost)
		l.says(string(rootBack))
	})
}
