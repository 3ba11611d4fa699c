package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scripts are what users and their programs do, and the least that must be told of it: paths with their evidence, and
// directories to rescan.
var scripts = []struct{ name, before, script, want string }{
	{"write", "write f", "write f", "f:content"},
	{"append twice", "write f", "write f; write f", "f:content"},
	{"chmod", "write f", "chmod 1 f; chmod 0 f", "f:attribute"},
	{"remove", "write f", "rm f", "f:structure"},
	{"rename", "write f", "mv f g", "f:structure g:content"},
	{"save by rename", "write f", "write f.tmp; mv f.tmp f", "f:content"},
	{"save of vim", "write f", "mv f f~; write f; chmod 0 f; rm f~", "f:content|structure|attribute"},
	{"safe write", "write f", "write new; mv f old; mv new f; rm old", "f:content|structure"},
	{"directories at once", "write f", "mkdir a; mkdir a/b; mkdir a/b/c; write a/b/c/f", "a:content rescan a"},
	{"moved inside", "mkdir a; mkdir a/b; write a/b/f; mkdir c", "mv a c/a; write c/a/b/g", "a:structure c/a:content rescan c/a"},
	{"moved in", "mkdir ../out/d; write ../out/d/f", "mv ../out/d d", "d:content rescan d"},
	{"moved out", "mkdir d; mkdir d/e; write d/e/f", "mv d ../out/d; write ../out/d/e/f", "d:structure"},
	{"directories exchanged", "mkdir a; mkdir a/x; write a/x/f; mkdir b; mkdir b/y", "swap a b; write a/y/f; write b/x/f",
		"a:content|structure b:content|structure rescan a b"},
	{"file for directory", "mkdir a; mkdir a/b; write f", "swap a f", "a:content|structure f:content|structure rescan f"},
	{"made again", "mkdir a; mkdir a/b; write a/b/f", "rmr a; mkdir a; mkdir a/b", "a:content|structure rescan a"},
	{"link for directory", "mkdir a; mkdir a/b; mkdir ../out/x", "mv a z; ln ../out a; write ../out/x/f",
		"a:content|structure z:content rescan z"},
	{"links of a mounted configuration", "mkdir ..1; write ..1/f; ln ..1 ..data; ln ..data/f f",
		"mkdir ..2; write ..2/f; ln ..2 ..tmp; mv ..tmp ..data; rmr ..1", "..data:content ..1:structure rescan ..2"},
	{"up, parent renamed, back", "mkdir a; mkdir a/b; mkdir a/b/c; write a/b/c/f", "mv a/b/c c; mv a/b a/d; mv c a/d/c; write a/d/c/f",
		"a/b:structure a/d:content rescan a/d"},
	{"names are bytes", "write f", "write \xff\xfe; mkdir é; write é/\x01", "\xff\xfe:content é:content rescan é"},
}

func TestScriptsOnModel(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			bubble(t, Options{}, func(l *lab) {
				l.do("mkdir ../out; " + s.before)
			}, func(l *lab) {
				l.hush()
				l.do(s.script)
				l.idle(time.Second)
				var batches []Batch
				for _, b := range l.hush() {
					batches = append(batches, b.Batch)
				}
				if miss := lacks(batches, s.want); miss != "" {
					l.Errorf("told %v\nwithout %s", batches, miss)
				}
				l.consistent()
			})
		})
	}
}

func TestScriptsOnDisk(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			st := &storm{world: &diskWorld{}, base: filepath.Join(t.TempDir(), "in")}
			if err := os.MkdirAll(st.path("."), 0o777); err != nil {
				t.Fatal(err)
			}
			play(t, st, "mkdir ../out; "+s.before)
			r := start(t, st.base, nil, nil)
			r.settled(t, true)
			r.consumer.mu.Lock()
			seen := len(r.batches)
			r.consumer.mu.Unlock()
			play(t, st, s.script)
			eventually(t, func() string {
				r.consumer.mu.Lock()
				defer r.consumer.mu.Unlock()
				if miss := lacks(r.batches[seen:], s.want); miss != "" {
					return fmt.Sprintf("told %+v\nwithout %s", r.batches[seen:], miss)
				}
				return ""
			})
			r.settled(t, true)
		})
	}
}

// lacks names what of want is not in the batches. A rescan of a directory above will do.
func lacks(batches []Batch, want string) string {
	got := map[string]Evidence{}
	var rescan []string
	for _, b := range batches {
		for _, d := range b.Dirty {
			got[d.Path] |= d.Evidence
		}
		rescan = append(rescan, b.Rescan...)
	}
	paths, dirs, _ := strings.Cut(want, " rescan ")
	var miss []string
	for _, w := range strings.Fields(paths) {
		path, evidence, _ := strings.Cut(w, ":")
		for _, kind := range strings.Split(evidence, "|") {
			if !slices.Contains(strings.Split(kinds(got[path]), "|"), kind) {
				miss = append(miss, w)
			}
		}
	}
	for _, dir := range strings.Fields(dirs) {
		if !slices.ContainsFunc(rescan, func(r string) bool { return dir == r || below(dir, r) }) {
			miss = append(miss, "rescan "+dir)
		}
	}
	return strings.Join(miss, ", ")
}

// A path as long as the system lets a process name it, and a little more.
func TestPathsTooLong(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	name := strings.Repeat("d", 200)
	depth := 0
	for ; depth < 25; depth++ {
		if os.Mkdir(name, 0o777) != nil || os.Chdir(name) != nil {
			break
		}
	}
	defer func() {
		for range depth { // RemoveAll does not start from a path this long
			if err := os.Chdir(".."); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}()
	r := start(t, dir, nil, nil)
	eventually(t, func() string {
		if n := len(r.Watched()); n < 2 {
			return fmt.Sprintf("%d of %d are watched", n, depth)
		}
		return ""
	})
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		r.consumer.mu.Lock()
		defer r.consumer.mu.Unlock()
		if _, ok := r.snap["f"]; !ok {
			return "f is not told"
		}
		return ""
	})
	r.stop()
}

// BenchmarkSave measures from the write to emit.
func BenchmarkSave(b *testing.B) {
	dir := b.TempDir()
	w, err := New(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	told := make(chan time.Time, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- w.Run(b.Context(), func(batch Batch) Reply {
			for _, d := range batch.Dirty {
				if d.Path == "f" {
					told <- time.Now()
				}
			}
			if len(batch.Rescan) > 0 {
				told <- time.Now()
			}
			return Reply{}
		})
	}()
	b.Cleanup(func() {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	<-told
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file+"~", []byte("content"), 0o666); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := os.WriteFile(file+"~", []byte("content"), 0o666); err != nil {
			b.Fatal(err)
		}
		if err := os.Rename(file+"~", file); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-told).Sub(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
