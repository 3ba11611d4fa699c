package watcher

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// conditions are what the user is told of, all of it: what brings a condition about and ends it, and the lines of the log.
var conditions = []struct {
	name  string
	setup func(*lab)
	play  func(*lab)
	lines []string

	poll bool
	open func() (source, error) // instead of the model's source, at first
}{
	{
		name: "events are lost",
		play: func(l *lab) {
			l.limitQueue(1)
			for range 3 { // one condition, if less than a minute passes
				l.do("write f; write g; write f; write g")
				l.idle(30 * time.Second)
			}
			l.idle(time.Minute)
		},
		lines: []string{
			`WARN ` + string(lossBegins) + ` err="fsnotify: queue or buffer overflow: ` + queueCure + `"`,
			`INFO ` + string(lossEnds),
		},
	},
	{
		name:  "watches run out",
		setup: func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir c"); l.maxWatches = 2 },
		play: func(l *lab) {
			l.idle(time.Minute)
			l.fail(nil, nil, 0)
			l.idle(time.Minute)
		},
		lines: []string{
			`WARN ` + string(watchesFail) + ` err="watch limit reached: no space left on device" first=DIR/c watched=2`,
			`INFO ` + string(watchesWork),
		},
	},
	{
		name: "one directory is mounted at two paths",
		setup: func(l *lab) {
			l.do("mkdir a; mkdir a/x; mkdir b")
			l.mountAgain("a", "b")
		},
		play:  func(l *lab) { l.idle(time.Minute) },
		lines: []string{`WARN ` + string(twiceBegins) + ` first=DIR/b`},
	},
	{
		name: "descriptors run out",
		play: func(l *lab) {
			l.fail(nil, syscall.EMFILE, 0)
			l.do("mkdir a")
			l.idle(time.Minute)
			l.fail(nil, nil, 0)
			l.idle(time.Minute)
		},
		lines: []string{
			`WARN ` + string(unwatchedBegins) + ` err="too many open files: ` + filesCure + `" first=DIR/a watched=1`,
			`INFO ` + string(unwatchedEnds),
		},
	},
	{
		name:  "the root goes and comes back",
		play:  func(l *lab) { l.do("rm ."); l.idle(time.Minute); l.do("mkdir ."); l.idle(time.Minute) },
		lines: []string{`WARN ` + string(rootGone), `INFO ` + string(rootBack)},
	},
	{
		name:  "the root cannot be read for a while",
		play:  func(l *lab) { l.do("chmod 1 ."); l.idle(time.Minute); l.do("chmod 0 ."); l.idle(time.Minute) },
		lines: []string{`WARN ` + string(rootBarred) + ` err="permission denied: ` + permissionCure + `"`, `INFO ` + string(rootBack)},
	},
	{
		name:  "directories cannot be read from the start, while watched, and searched",
		setup: func(l *lab) { l.do("mkdir c; mkdir b; mkdir a; mkdir a/d; chmod 1 c; chmod 1 b") },
		play: func(l *lab) {
			l.idle(time.Minute)
			l.do("chmod 1 a")
			l.idle(time.Second)
			l.do("chmod 0 c; chmod 0 b")
			l.idle(time.Minute)
			l.do("chmod 0 a") // the last one
			l.idle(time.Minute)
			l.do("chmod 2 a")
			l.idle(time.Minute)
			l.do("mv a ../gone") // out of the tree is over, too
			l.idle(time.Minute)
		},
		lines: []string{
			`WARN ` + string(closedBegins) + ` err="permission denied: ` + permissionCure + `" first=DIR/b`, `INFO ` + string(closedEnds),
			`WARN ` + string(closedBegins) + ` err="permission denied: ` + permissionCure + `" first=DIR/a`, `INFO ` + string(closedEnds),
		},
	},
	{
		name:  "a directory changes without an event",
		setup: func(l *lab) { l.do("mkdir a") },
		play: func(l *lab) {
			for range 2 {
				l.silently(func() { l.do("write a/f; rm a/f") })
				l.idle(time.Minute)
			}
			l.idle(2 * time.Minute)
		},
		lines: []string{`WARN ` + string(unheardBegins) + ` first=DIR/a`, `INFO ` + string(unheardEnds)},
	},
	{
		name:  "something is mounted, and again",
		setup: func(l *lab) { l.do("mkdir a; mkdir b") },
		play: func(l *lab) {
			l.do("mount a; mount b")
			l.idle(10 * time.Second)
			l.do("umount a")
			l.idle(time.Minute)
		},
		lines: []string{`WARN ` + string(mountsChanged) + ` first=DIR/a`},
	},
	{
		name: "there is no source at first",
		open: func() (source, error) { return nil, startError(syscall.EMFILE) },
		play: func(l *lab) { l.idle(time.Minute) },
		lines: []string{
			`WARN ` + string(sourceFails) + ` err="cannot watch: too many open files: ` + instanceCure + `" first=DIR`,
			`INFO ` + string(watchesWork),
		},
	},
	{
		name:  "the system has no notifications",
		open:  func() (source, error) { return nil, errors.ErrUnsupported },
		play:  func(l *lab) { l.idle(time.Minute) },
		lines: []string{`INFO ` + string(pollingHere)},
	},
	{
		name:  "polling is asked for",
		poll:  true,
		play:  func(l *lab) { l.idle(time.Minute) },
		lines: []string{`INFO ` + string(pollingAsked)},
	},
	{
		name: "a polled directory cannot be looked at",
		poll: true,
		play: func(l *lab) {
			l.fail(nil, syscall.EIO, 0)
			l.idle(time.Minute)
			l.fail(nil, nil, 0)
			l.idle(2 * time.Minute)
		},
		lines: []string{
			`INFO ` + string(pollingAsked),
			`WARN ` + string(lookFails) + ` err="input/output error" first=DIR`,
			`INFO ` + string(lookWorks),
		},
	},
	{
		name:  "a file system can be changed from elsewhere",
		setup: func(l *lab) { l.remote = "nfs" },
		play: func(l *lab) {
			l.idle(time.Minute)
			l.setRemote("")
			l.do("mkdir ../other; mv . ../gone; mv ../other .")
			l.idle(time.Minute)
		},
		lines: []string{
			`WARN ` + string(remoteBegins) + ` type=nfs first=DIR`,
			`INFO ` + string(remoteEnds) + ` type=nfs`,
		},
	},
	{
		name:  "the source cannot be closed",
		play:  func(l *lab) { l.src.closeErr = syscall.EIO },
		lines: []string{`WARN ` + string(closeFailed) + ` err="input/output error"`},
	},
}

// TestVoice: one line for each condition, with what to do about it if something can be done, and one when it is over.
func TestVoice(t *testing.T) {
	for _, c := range conditions {
		t.Run(c.name, func(t *testing.T) {
			var all *lab
			open := func(model func() (source, error)) func() (source, error) {
				if c.open == nil {
					return model
				}
				tries := 0
				return func() (source, error) {
					if tries++; tries == 1 {
						return c.open()
					}
					return model()
				}
			}
			bubbleWith(t, Options{Poll: c.poll}, c.setup, open, func(l *lab) {
				all = l
				c.play(l)
			})
			var got []string
			for line := range strings.Lines(all.log.String()) {
				_, line, _ = strings.Cut(strings.TrimSpace(line), " level=")
				level, line, _ := strings.Cut(line, ` msg="`)
				msg, rest, _ := strings.Cut(line, `"`)
				rest, ok := strings.CutPrefix(rest, " dir="+all.at(""))
				if !ok {
					t.Errorf("it does not say which directory: %s", line)
				}
				got = append(got, level+" "+msg+strings.ReplaceAll(rest, all.at(""), "DIR"))
			}
			if !slices.Equal(got, c.lines) {
				t.Errorf("said\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(c.lines, "\n"))
			}
		})
	}
}

// TestVoiceIsComplete: no message is missing above.
func TestVoiceIsComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "voice.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "message" {
			return false
		}
		value := spec.Values[0]
		if sum, ok := value.(*ast.BinaryExpr); ok {
			value = sum.X
		}
		text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		heard := text == string(soFar) // it comes with each of the others, see TestStatsAreLogged
		for _, c := range conditions {
			heard = heard || slices.ContainsFunc(c.lines, func(line string) bool { return strings.Contains(line, text) })
		}
		if !heard {
			t.Errorf("no condition says %q", text)
		}
		return false
	})
	if found < 10 {
		t.Errorf("%d messages were found", found)
	}
}

// TestStatsAreLogged with each condition and at the end, for whoever looks closely.
func TestStatsAreLogged(t *testing.T) {
	var all *lab
	bubble(t, Options{}, func(l *lab) { l.level = slog.LevelDebug }, func(l *lab) {
		all = l
		l.do("rm .")
		l.idle(time.Minute)
		if l.logged(string(soFar)) != 1 || l.logged("stats.mode=native stats.watches=0") != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
		l.do("mkdir .")
		l.idle(time.Minute)
	})
	if all.logged(string(soFar)) != 3 || all.logged("stats.watches=1") != 2 {
		t.Errorf("logged:\n%s", &all.log)
	}
}
