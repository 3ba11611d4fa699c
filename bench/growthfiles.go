package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// launch is what the product took, on pipes and with all cores, until it had listed and watched a directory and came to rest.
type launch struct {
	first, ready, cpu time.Duration
	memory            memory
}

// growFiles measures the product on trees of more and more files, and on one directory that holds all.
func (b *bench) growFiles(ctx context.Context, p peer) error {
	empty, err := b.launchEmpty(ctx, p)
	if err != nil {
		return err
	}
	for _, t := range b.scale.directories() {
		if err := b.files(ctx, p, t, empty); err != nil {
			b.sheet.fail(t.String()+" of "+p.name, err)
		}
	}
	return nil
}

// files measures p on a tree, and what a file of it takes: that is more than an empty directory does.
func (b *bench) files(ctx context.Context, p peer, t tree, empty launch) error {
	dir, err := b.grown(ctx, t)
	if err != nil {
		return err
	}
	ch, l, err := b.launch(ctx, p, dir)
	if err != nil {
		return err
	}
	defer ch.end()
	defer ch.within(ctx, 2*time.Minute)()
	add := b.growing(p, filesTable, t.String())
	n := float64(t.files)
	add("start to first answer", "ms", milli(l.first))
	add("start until all is listed and watched", "ms", milli(l.ready))
	add("start until all is listed and watched, of each file", "µs", micro(l.ready-empty.ready)/n)
	add("CPU until then", "ms", milli(l.cpu))
	add("CPU until then, of each file", "µs", micro(l.cpu-empty.cpu)/n)
	add("memory", "MB", float64(l.memory.now)/1e6)
	add("memory at most", "MB", float64(l.memory.peak)/1e6)
	add("memory of each file", "B", float64(l.memory.now-empty.memory.now)/n)
	if err := b.pages(ctx, ch, t, add); err != nil {
		return err
	}
	read, err := b.rest(ctx, ch)
	if err != nil {
		return err
	}
	add("memory once all pages were read", "MB", float64(read.memory.now)/1e6)
	if err := b.saves(ctx, ch, dir, t, add); err != nil {
		return err
	}
	return b.newcomers(ctx, ch, dir, t, add)
}

// launch starts p on a directory, and waits until all of that is known.
func (b *bench) launch(ctx context.Context, p peer, dir string) (*child, launch, error) {
	p.stdio = append(p.stdio[:len(p.stdio):len(p.stdio)], "--log-level", "debug") // which tells when all is known
	ch, first, err := b.startStdio(ctx, p, dir)
	if err != nil {
		return nil, launch{}, err
	}
	l := launch{first: first}
	if _, err = ch.err.await(ctx, "is watched", startWithin); err == nil {
		l.ready = time.Since(ch.started)
		l.cpu, err = ch.cpu()
	}
	if err == nil {
		var s state
		s, err = b.rest(ctx, ch)
		l.memory = s.memory
	}
	if err != nil {
		ch.end()
		return nil, launch{}, err
	}
	return ch, l, nil
}

// launchEmpty tells what p takes without files: medians of some starts.
func (b *bench) launchEmpty(ctx context.Context, p peer) (launch, error) {
	dir := filepath.Join(b.scratch, "empty")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return launch{}, err
	}
	var ready, cpu, resident []float64
	for range b.scale.starts {
		ch, l, err := b.launch(ctx, p, dir)
		if err != nil {
			return launch{}, fmt.Errorf("an empty directory: %w", err)
		}
		ch.end()
		ready, cpu, resident = append(ready, float64(l.ready)), append(cpu, float64(l.cpu)), append(resident, float64(l.memory.now))
	}
	return launch{ready: time.Duration(median(ready)), cpu: time.Duration(median(cpu)), memory: memory{now: int64(median(resident))}}, nil
}

// pagesAsked is how many are asked for at each place: enough for some collections of garbage, one of which takes as much as many
// pages of a large tree.
const pagesAsked = 300

// page is one of the list: where it begins, and how long the answer is.
type page struct {
	cursor string
	length int
}

// pages asks for pages of 1,000 at the beginning, in the middle and at the end of the list, after all of them were asked for once.
func (b *bench) pages(ctx context.Context, ch *child, t tree, add adder) error {
	all, err := walk(ctx, ch, t.files)
	if err != nil {
		return err
	}
	last := (t.files - 1) / 1000
	for _, place := range []struct {
		name string
		at   int
	}{{"first", 0}, {"middle", last / 2}, {"last", last}} {
		before, err := ch.cpu()
		if err != nil {
			return err
		}
		start := time.Now()
		for range pagesAsked {
			said, err := ch.ask(ctx, list(all[place.at].cursor), longID)
			if err != nil {
				return err
			}
			if len(said) != all[place.at].length {
				return fmt.Errorf("a page is another when it is asked for again: %.300q", said)
			}
		}
		wall := time.Since(start)
		after, err := ch.cpu()
		if err != nil {
			return err
		}
		add(place.name+" page of the list, warm: CPU", "µs", micro(after-before)/pagesAsked)
		add(place.name+" page of the list, warm", "µs", micro(wall)/pagesAsked)
	}
	return nil
}

// walk asks for all pages of a list that has so many files.
func walk(ctx context.Context, ch *child, files int) (all []page, err error) {
	found := 0
	for next := ""; len(all) == 0 || next != ""; {
		said, err := ch.ask(ctx, list(next), longID)
		if err != nil {
			return nil, err
		}
		all = append(all, page{cursor: next, length: len(said)})
		found += bytes.Count(said, []byte(`"uri":"`+uriBase))
		if next, err = nextCursor(said); err != nil {
			return nil, err
		}
	}
	if found != files {
		return nil, fmt.Errorf("the list has %d of %d files", found, files)
	}
	return all, nil
}

// nextCursor finds the cursor in a page without parsing all of it.
func nextCursor(said []byte) (string, error) {
	const key = `"nextCursor":"`
	at := bytes.LastIndex(said, []byte(key))
	if at < 0 {
		if !bytes.Contains(said, []byte(`"resources":`)) {
			return "", fmt.Errorf("the server answers %.300q to resources/list", said)
		}
		return "", nil
	}
	cursor, _, _ := bytes.Cut(said[at+len(key):], []byte(`"`))
	return string(cursor), nil
}

// saves measures from saving a file, in the middle of the tree, to its announcement.
func (b *bench) saves(ctx context.Context, ch *child, dir string, t tree, add adder) error {
	name := t.name(t.files / 2)
	if err := ch.listen(ctx, listenTo(uriBase+name), 1); err != nil {
		return err
	}
	return b.told(ctx, ch, announced{"one save", updated, b.scale.saves, 0}, add, func(i int) error {
		return overwrite(filepath.Join(dir, name), fmt.Sprintf("version %d\n", i))
	})
}

// newcomers measures the same of files that are new, beside that one.
func (b *bench) newcomers(ctx context.Context, ch *child, dir string, t tree, add adder) error {
	if err := ch.listen(ctx, listenToList(), 2); err != nil {
		return err
	}
	beside := filepath.Join(dir, filepath.Dir(t.name(t.files/2)))
	var made []string
	err := b.told(ctx, ch, announced{"one new file", listChanged, b.scale.newFiles, listPace}, add, func(i int) error {
		made = append(made, filepath.Join(beside, fmt.Sprintf("new-%d.md", i)))
		return os.WriteFile(made[i], nil, 0o644)
	})
	for _, path := range made { // the tree is measured again in the next round
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// listPace is longer than what lies between two announcements of the list.
const listPace = 600 * time.Millisecond

// announced is a kind of change.
type announced struct {
	what string
	by   []byte        // the method of the notification
	n    int           // changes that are made
	pace time.Duration // before each, so that none waits for the announcement of the one before
}

// told makes changes one after the other, each of which is announced by one notification.
func (b *bench) told(ctx context.Context, ch *child, a announced, add adder, change func(i int) error) error {
	var took, cpu []float64
	for i := range a.n {
		sleep(ctx, a.pace)
		telling, err := b.spent(ctx, ch, func() error {
			start := time.Now()
			if err := change(i); err != nil {
				return err
			}
			said, err := ch.line()
			if err != nil {
				return err
			}
			took = append(took, milli(time.Since(start)))
			if !bytes.Contains(said, a.by) {
				return fmt.Errorf("after %s the server says %.300q", a.what, said)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if more, err := ch.unread(ctx); err != nil || more > 0 {
			return errors.Join(err, fmt.Errorf("%s is announced %d times", a.what, 1+more))
		}
		cpu = append(cpu, micro(telling.cpu))
	}
	add(a.what+", announced after", "ms", median(took))
	add(a.what+": CPU", "µs", median(cpu))
	return nil
}
