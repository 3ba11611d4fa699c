package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// growChanges measures bursts of more and more changes, on pipes and with all cores, in a tree that has as many files as the
// largest of them. One listen asks for each file that changes.
func (b *bench) growChanges(ctx context.Context, p peer) error {
	t := tree{files: max(slices.Max(b.scale.changes), filesPerDir), perDir: filesPerDir}
	dir, err := b.grown(ctx, t)
	if err != nil {
		return err
	}
	for _, n := range b.scale.changes {
		of := counted(n, "change")
		if err := b.changesOf(ctx, p, dir, t, n, b.growing(p, changesTable, of)); err != nil {
			b.sheet.fail(fmt.Sprintf("a burst of %s of %s", of, p.name), err)
		}
	}
	return nil
}

// burst is what one burst took.
type burst struct {
	written     time.Duration // until the last file was changed
	first, last time.Duration // until it was told of the first and of the last, all since the first was changed
	messages    int           // that told of them
}

// changesOf measures bursts of n changes, in files all over the tree.
func (b *bench) changesOf(ctx context.Context, p peer, dir string, t tree, n int, add adder) error {
	p.stdio = append(p.stdio[:len(p.stdio):len(p.stdio)], "--max-uris", fmt.Sprint(maxChanges))
	ch, _, err := b.launch(ctx, p, dir)
	if err != nil {
		return err
	}
	defer ch.end()
	defer ch.within(ctx, 2*time.Minute)()
	names := make([]string, n)
	uris := make([]string, n)
	for i := range names {
		names[i] = t.name(i * (t.files / n))
		uris[i] = uriBase + names[i]
	}
	if err := ch.listen(ctx, listenTo(uris...), 1); err != nil {
		return err
	}
	var cpu, of1, first, last, after, messages, grows []float64
	for round := range b.scale.bursts {
		var took burst
		if err := forgetPeak(ch.pid()); err != nil {
			return err
		}
		before, err := ch.memory()
		if err != nil {
			return err
		}
		bursting, err := b.spent(ctx, ch, func() (err error) {
			took, err = ch.burst(dir, names, fmt.Sprintf("burst %d\n", round))
			return err
		})
		if err != nil {
			return err
		}
		m, err := ch.memory()
		if err != nil {
			return err
		}
		late, err := ch.unread(ctx)
		if err != nil {
			return err
		}
		cpu, of1 = append(cpu, milli(bursting.cpu)), append(of1, micro(bursting.cpu)/float64(n))
		first, last = append(first, milli(took.first)), append(last, milli(took.last))
		after = append(after, milli(took.last-took.written))
		messages = append(messages, float64(took.messages+late)/float64(n))
		grows = append(grows, float64(m.peak-before.now)/1e6)
	}
	add("CPU of all", "ms", median(cpu))
	add("CPU of each", "µs", median(of1))
	add("the first is told after", "ms", median(first))
	add("the last is told after", "ms", median(last))
	add("the last is told after the last file was changed, after", "ms", median(after))
	add("notifications of each", "", median(messages))
	add("memory grows by at most", "MB", median(grows))
	return nil
}

// burst changes files one after the other as fast as it can, and reads meanwhile until each was announced. Twice is
// no error: a server that was told of less than all looks at more.
func (ch *child) burst(dir string, names []string, text string) (burst, error) {
	var took burst
	start := time.Now()
	written := make(chan error, 1) // gets one, when all are written
	go func() {
		for _, name := range names {
			if err := overwrite(filepath.Join(dir, name), text); err != nil {
				ch.kill() // who reads waits for what will not be said
				written <- err
				return
			}
		}
		took.written = time.Since(start)
		written <- nil
	}()
	told := map[string]bool{} // by the name of each file that changes
	for _, name := range names {
		told[name] = false
	}
	for owed := len(names); owed > 0; took.messages++ {
		said, err := ch.line()
		var name string
		if err == nil {
			name, err = changed(said)
		}
		already, asked := told[name]
		if err == nil && !asked {
			err = fmt.Errorf("nobody asks for what the server announces: %.300q", said)
		}
		if err != nil {
			return burst{}, errors.Join(err, <-written)
		}
		if !already {
			told[name] = true
			owed--
		}
		if took.first == 0 {
			took.first = time.Since(start)
		}
	}
	took.last = time.Since(start)
	err := <-written
	return took, err
}

// changed is the file that a notification announces.
func changed(said []byte) (string, error) {
	_, after, found := bytes.Cut(said, []byte(`"uri":"`+uriBase))
	name, _, ended := bytes.Cut(after, []byte(`"`))
	if !bytes.Contains(said, updated) || !found || !ended {
		return "", fmt.Errorf("instead of a change the server says %.300q", said)
	}
	return string(name), nil
}
