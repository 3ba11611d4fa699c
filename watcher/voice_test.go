package watcher

import (
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
}{
	{
		"events are lost",
		nil,
		func(l *lab) {
			l.limitQueue(1)
			for range 3 { // one condition, if less than a minute passes
				l.do("write f; write g; write f; write g")
				l.idle(30 * time.Second)
			}
			l.idle(time.Minute)
		},
		[]string{
			`WARN ` + string(lossBegins) + ` err="fsnotify: queue or buffer overflow: ` + queueCure + `"`,
			`INFO ` + string(lossEnds),
		},
	},
	{
		"watches run out",
		func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir c"); l.maxWatches = 2 },
		func(l *lab) {
			l.idle(time.Minute)
			l.fail(nil, nil, 0)
			l.idle(time.Minute)
		},
		[]string{
			`WARN ` + string(unwatchedBegins) + ` err="watch limit reached: no space left on device" first=DIR/c watched=2`,
			`INFO ` + string(unwatchedEnds),
		},
	},
	{
		"descriptors run out",
		nil,
		func(l *lab) {
			l.fail(nil, syscall.EMFILE, 0)
			l.do("mkdir a")
			l.idle(time.Minute)
			l.fail(nil, nil, 0)
			l.idle(time.Minute)
		},
		[]string{
			`WARN ` + string(unwatchedBegins) + ` err="too many open files: ` + filesCure + `" first=DIR/a watched=1`,
			`INFO ` + string(unwatchedEnds),
		},
	},
	{
		"the root goes and comes back",
		nil,
		func(l *lab) { l.do("rm ."); l.idle(time.Minute); l.do("mkdir ."); l.idle(time.Minute) },
		[]string{`WARN ` + string(rootGone), `INFO ` + string(rootBack)},
	},
	{
		"the root cannot be read for a while",
		nil,
		func(l *lab) { l.do("chmod 1 ."); l.idle(time.Minute); l.do("chmod 0 ."); l.idle(time.Minute) },
		[]string{`WARN ` + string(rootBarred) + ` err="permission denied"`, `INFO ` + string(rootBack)},
	},
	{
		"a directory changes without an event",
		func(l *lab) { l.do("mkdir a") },
		func(l *lab) {
			for range 2 {
				l.silently(func() { l.do("write a/f; rm a/f") })
				l.idle(time.Minute)
			}
			l.idle(2 * time.Minute)
		},
		[]string{`WARN ` + string(unheardBegins) + ` first=DIR/a`, `INFO ` + string(unheardEnds)},
	},
	{
		"something is mounted, and again",
		func(l *lab) { l.do("mkdir a; mkdir b") },
		func(l *lab) {
			l.do("mount a; mount b")
			l.idle(10 * time.Second)
			l.do("umount a")
			l.idle(time.Minute)
		},
		[]string{`WARN ` + string(mountsChanged) + ` first=DIR/a`},
	},
	{
		"the source cannot be closed",
		nil,
		func(l *lab) { l.src.closeErr = syscall.EIO },
		[]string{`WARN ` + string(closeFailed) + ` err="input/output error"`},
	},
}

// TestVoice: one line for each condition, with what to do about it if something can be done, and one when it is over.
func TestVoice(t *testing.T) {
	for _, c := range conditions {
		t.Run(c.name, func(t *testing.T) {
			var all *lab
			bubble(t, Options{}, c.setup, func(l *lab) {
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
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
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
