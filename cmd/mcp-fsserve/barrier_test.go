package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

var barrierRounds = flag.Int("barrier.rounds", 5, "rounds of changes after each of which the list is asked for")

// ask sends a request and returns its result; notifications are passed over.
func (w *wireEnd) ask(method, params string, result any) {
	w.t.Helper()
	w.send(w.expand(`{"jsonrpc":"2.0","id":"asked","method":"` + method + `","params":{` + params + `$META}}`))
	frame := w.next(nil)
	for !strings.Contains(frame, `"id":"asked"`) {
		frame = w.next(nil)
	}
	answer := struct {
		Result any
		Error  json.RawMessage
	}{Result: result}
	must(w.t, json.Unmarshal([]byte(frame), &answer))
	if answer.Error != nil {
		w.t.Fatalf("%s: %s", method, answer.Error)
	}
}

// names returns the names of the whole list.
func (w *wireEnd) names() (names []string) {
	w.t.Helper()
	cursor := ""
	for {
		var page struct {
			Resources  []struct{ Name string }
			NextCursor string
		}
		w.ask("resources/list", cursor, &page)
		for _, r := range page.Resources {
			names = append(names, r.Name)
		}
		if page.NextCursor == "" {
			slices.Sort(names)
			return names
		}
		cursor = `"cursor":"` + page.NextCursor + `",`
	}
}

// changes are what somebody does to a tree before asking for the list, and what is in it then.
var changes = []struct {
	name string
	do   func(dir string, round int) error
	want []string
}{
	{"write", func(dir string, _ int) error { return os.WriteFile(filepath.Join(dir, "f"), nil, 0o666) }, []string{"f"}},
	{"rename", func(dir string, _ int) error { return os.Rename(filepath.Join(dir, "f"), filepath.Join(dir, "g")) }, []string{"g"}},
	{"make directories", func(dir string, _ int) error {
		if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "a", "b", "c", "f"), nil, 0o666)
	}, []string{"a/b/c/f", "g"}},
	{"ignore", func(dir string, _ int) error {
		return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("/a\n"), 0o666)
	}, []string{"g"}},
	{"write what is ignored", func(dir string, _ int) error {
		return os.WriteFile(filepath.Join(dir, "a", "b", "i"), nil, 0o666)
	}, []string{"g"}},
	{"ignore something else", func(dir string, _ int) error {
		return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("g\n"), 0o666)
	}, []string{"a/b/c/f", "a/b/i"}},
	{"ignore nothing", func(dir string, _ int) error { return os.Remove(filepath.Join(dir, ".gitignore")) }, []string{"a/b/c/f", "a/b/i", "g"}},
	{"save by rename", func(dir string, round int) error {
		return renameOver(filepath.Join(dir, "g"), fmt.Sprint(round))
	}, []string{"a/b/c/f", "a/b/i", "g"}},
	{"move a directory", func(dir string, _ int) error {
		return os.Rename(filepath.Join(dir, "a", "b"), filepath.Join(dir, "d"))
	}, []string{"d/c/f", "d/i", "g"}},
	{"remove a directory", func(dir string, _ int) error { return os.RemoveAll(filepath.Join(dir, "d")) }, []string{"g"}},
	{"remove", func(dir string, _ int) error { return os.Remove(filepath.Join(dir, "g")) }, nil},
	{"replace the root", func(dir string, _ int) error {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "r"), nil, 0o666)
	}, []string{"r"}},
	{"empty the new root", func(dir string, _ int) error { return os.Remove(filepath.Join(dir, "r")) }, nil},
}

// TestListTellsWhatWasDoneBefore: whoever changes the tree and then asks for the list finds the change in it.
func TestListTellsWhatWasDoneBefore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(dir, 0o777))
	w := startWire(t, serving(dir))
	var took []time.Duration
	for round := range *barrierRounds {
		for _, c := range changes {
			must(t, c.do(dir, round))
			start := time.Now()
			if got := w.names(); !slices.Equal(got, c.want) {
				t.Fatalf("%s, round %d: listed are %q, not %q", c.name, round, got, c.want)
			}
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	t.Logf("%d lists: p50 %v, p99 %v, max %v", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	must(t, w.in.Close())
	w.untilEnd()
}

// TestAnswersTellWhatWasDoneBefore: not the list alone is answered from what is known of the tree.
func TestAnswersTellWhatWasDoneBefore(t *testing.T) {
	w := startWire(t, serving(t.TempDir()))
	for i := range *barrierRounds {
		name := fmt.Sprintf("f%d", i)
		dir := filepath.Join(w.dir, fmt.Sprintf("d%d", i))
		must(t, os.WriteFile(filepath.Join(w.dir, name), nil, 0o666))
		var completed struct{ Completion struct{ Values []string } }
		w.ask("completion/complete", `"ref":{"type":"ref/resource","uri":"test://{+path}"},"argument":{"name":"path","value":"f"},`, &completed)
		if len(completed.Completion.Values) != 1 || completed.Completion.Values[0] != name {
			t.Fatalf("%s is completed as %q", name, completed.Completion.Values)
		}
		must(t, os.Remove(filepath.Join(w.dir, name)))
		must(t, os.Mkdir(dir, 0o777))
		must(t, os.WriteFile(filepath.Join(dir, "g"), nil, 0o666))
		var read struct{ Contents []struct{ Text string } }
		uri := "test://" + filepath.Base(dir) + "/"
		w.ask("resources/read", `"uri":"`+uri+`",`, &read)
		if len(read.Contents) != 1 || read.Contents[0].Text != uri+"g\r\n" {
			t.Fatalf("%s is %+v", uri, read.Contents)
		}
		must(t, os.WriteFile(filepath.Join(w.dir, ".gitignore"), []byte("h\n"), 0o666))
		must(t, os.WriteFile(filepath.Join(dir, "h"), []byte("text"), 0o666))
		w.names()
		must(t, os.Remove(filepath.Join(w.dir, ".gitignore")))
		w.ask("resources/read", `"uri":"`+uri+`h",`, &read)
		if len(read.Contents) != 1 || read.Contents[0].Text != "text" {
			t.Fatalf("what is ignored no longer is %+v", read.Contents)
		}
		must(t, os.RemoveAll(dir))
	}
	must(t, w.in.Close())
	w.untilEnd()
}

// TestAnswerWaitsASecondAtMost: then it is what is known. Before the first scan it does not wait at all.
func TestAnswerWaitsASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watchers barrier
		var scanned []func()
		for range 3 {
			w, err := watcher.New(t.TempDir(), nil) // it does not run, so it never tells anything
			must(t, err)
			scanned = append(scanned, watchers.add(w))
		}
		took := func() time.Duration {
			start := time.Now()
			watchers.update(t.Context())
			return time.Since(start)
		}
		if d := took(); d != 0 {
			t.Errorf("waited %v before the first scan", d)
		}
		for i, f := range scanned {
			f()
			if d := took(); d != syncWithin {
				t.Errorf("waited %v for %d directories", d, i+1)
			}
		}
	})
}
