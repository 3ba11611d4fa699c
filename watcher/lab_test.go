package watcher

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lab is a Watcher on a model, in a bubble where time passes only when nobody has anything to do.
type lab struct {
	*testing.T
	*model
	*Watcher
	*consumer
	src   *modelSource
	began time.Time
	log   logBuffer
	deaf  bool // the consumer gets none

	level     slog.Level      // least one that is logged
	heard     int             // how much of the log was looked at
	tableless bool            // the system has no mount table to ask
	wrap      func(disk) disk // puts something before the watcher's disk, if not nil

	tellMu  sync.Mutex  // guards what follows
	told    []telling   // since the last hush
	onBatch func(Batch) // called before the consumer gets a batch, if not nil
}

// logBuffer is what was logged so far.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

type telling struct {
	at time.Duration // since began
	Batch
}

// bubble runs the watcher on a tree made by setup, and test once the first walk is over.
func bubble(t *testing.T, opts Options, setup func(*lab), test func(*lab)) {
	bubbleWith(t, opts, setup, nil, test)
}

// bubbleOn has the watcher see the model's source as wrap makes it.
func bubbleOn(t *testing.T, opts Options, wrap func(*modelSource) source, setup func(*lab), test func(*lab)) {
	bubbleWith(t, opts, setup, func(model func() (source, error)) func() (source, error) {
		return func() (source, error) {
			src, err := model()
			if err != nil {
				return nil, err
			}
			return wrap(src.(*modelSource)), nil
		}
	}, test)
}

// bubbleWith is bubble with another way to open the native source.
func bubbleWith(t *testing.T, opts Options, setup func(*lab), open func(model func() (source, error)) func() (source, error),
	test func(*lab)) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{T: t, model: newModel()}
		l.must(l.mkdir(modelBase))
		l.must(l.mkdir(l.at("")))
		if setup != nil {
			setup(l)
		}
		opts.Logger = slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{Level: l.level}))
		w, err := New(l.at(""), &opts)
		if err != nil {
			t.Fatal(err)
		}
		w.disk = l.model
		if l.wrap != nil {
			w.disk = l.wrap(l.model)
		}
		w.mounts = func() mountTable {
			if l.tableless {
				return nil
			}
			return &modelTable{model: l.model}
		}
		w.source = func() (source, error) {
			l.src = newModelSource(l.model)
			return l.src, nil
		}
		if open != nil {
			w.source = open(w.source)
		}
		l.Watcher = w
		l.consumer = &consumer{root: w.root, view: l.model, skip: w.skip}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		l.began = time.Now()
		go func() { ended <- w.Run(ctx, l.emit) }()
		synctest.Wait()
		test(l)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (l *lab) emit(b Batch) Reply {
	l.tellMu.Lock()
	l.told = append(l.told, telling{time.Since(l.began), b})
	onBatch := l.onBatch
	l.tellMu.Unlock()
	if onBatch != nil {
		onBatch(b)
	}
	if l.deaf {
		return Reply{}
	}
	return l.consumer.emit(b)
}

// each has f called with each batch before the consumer gets it, if not nil.
func (l *lab) each(f func(Batch)) {
	l.tellMu.Lock()
	defer l.tellMu.Unlock()
	l.onBatch = f
}

// hush returns and forgets what was told.
func (l *lab) hush() (told []telling) {
	l.tellMu.Lock()
	defer l.tellMu.Unlock()
	told, l.told = l.told, nil
	return told
}

func (l *lab) at(path string) string { return filepath.Join(modelBase, "in", filepath.FromSlash(path)) }

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// do plays a script: "mkdir a; write a/f; mv a b; swap b c; rm f; rmr b; ln target b; chmod 3 b; touch b; mount a; umount a". Paths are relative to the root.
func (l *lab) do(script string) {
	l.Helper()
	play(l.T, &storm{world: l.model, base: l.at("")}, script)
}

func play(t *testing.T, s *storm, script string) {
	t.Helper()
	for line := range strings.SplitSeq(script, ";") {
		f := strings.Fields(line)
		var err error
		switch f[0] {
		case "mkdir":
			err = s.mkdir(s.path(f[1]))
		case "write":
			err = s.write(s.path(f[1]))
		case "mv":
			err = s.rename(s.path(f[1]), s.path(f[2]))
		case "swap":
			err = s.exchange(s.path(f[1]), s.path(f[2]))
		case "rm":
			err = s.remove(s.path(f[1]))
		case "rmr":
			s.removeAll(s.path(f[1]))
		case "ln":
			err = s.symlink(s.path(f[1]), s.path(f[2]))
		case "chmod":
			err = s.chmod(s.path(f[2]), modelMode(f[1][0]-'0'))
		case "touch":
			err = s.world.(*model).utimes(s.path(f[1]))
		case "mount":
			err = s.world.(*model).mount(s.path(f[1]))
		case "umount":
			err = s.world.(*model).unmount(s.path(f[1]))
		default:
			t.Fatalf("no such operation: %q", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// idle lets time go by.
func (l *lab) idle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// since returns and forgets what was told, one line a batch: "2ms f:content g:structure|content rescan a b".
func (l *lab) since(start time.Time) string {
	var lines []string
	for _, b := range l.hush() {
		line := fmt.Sprint(l.began.Add(b.at).Sub(start))
		for _, d := range b.Dirty {
			line += fmt.Sprintf(" %s:%s", name(d.Path), kinds(d.Evidence))
		}
		if len(b.Rescan) > 0 {
			line += " rescan"
		}
		for _, dir := range b.Rescan {
			line += " " + name(dir)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// toldSince compares what was told, and forgets it.
func (l *lab) toldSince(start time.Time, want string) {
	l.Helper()
	if got := l.since(start); got != want {
		l.Errorf("told\n%s\nnot\n%s", got, want)
	}
}

func name(path string) string {
	if path == "" {
		return "."
	}
	return path
}

func kinds(e Evidence) string {
	var s []string
	for i, kind := range []string{"content", "structure", "attribute", "settled", "names"} {
		if e&(1<<i) != 0 {
			s = append(s, kind)
		}
	}
	return strings.Join(s, "|")
}

// tells plays a script, lets a second pass, and compares what was told.
func (l *lab) tells(script string, want ...string) {
	l.Helper()
	l.hush()
	start := time.Now()
	if script != "" {
		l.do(script)
	}
	l.idle(time.Second)
	if got := l.since(start); got != strings.Join(want, "\n") {
		l.Errorf("%s\ntells\n%s\nnot\n%s", script, got, strings.Join(want, "\n"))
	}
	l.consistent()
}

func (l *lab) consistent() {
	l.Helper()
	if d := l.differs(l.Watched()); d != "" {
		l.Errorf("the consumer is left with\n%s", d)
	}
	for _, dir := range l.Watched() {
		if !l.watched(l.Watcher.root.abs(dir)) && !l.poller.holds(dir) {
			l.Errorf("registered but neither watched nor polled: %q", dir)
		}
	}
}

func (l *lab) watches(want ...string) {
	l.Helper()
	if got := l.Watched(); !slices.Equal(got, want) {
		l.Errorf("watched are %q, not %q", got, want)
	}
}

// logged counts the lines of the log that hold text.
func (l *lab) logged(text string) int { return strings.Count(l.log.String(), text) }

// calls counts the system calls the watcher makes while do runs and time goes by.
func (l *lab) calls(do func()) (n int) {
	l.interrupt(func() { n++ })
	do()
	l.idle(100 * time.Millisecond)
	l.interrupt(nil)
	return n
}
