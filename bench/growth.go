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

// Growth is measured of the product alone, on pipes and with all cores, as its users run it.
const (
	growthTable = "Growth with the tree"
	filesPerDir = 1000
	pages       = 30 // that are asked for at each place
)

// onlyOurs reports whether p is the product.
func onlyOurs(p peer) bool { return p.ours }

// growthStep measures the product on trees of more and more files, and on one directory that holds all.
func (b *bench) growthStep(ctx context.Context, p peer) error {
	for _, n := range b.scale.trees {
		if err := b.tree(ctx, p, fmt.Sprintf("%d files", n), n, filesPerDir); err != nil {
			b.sheet.note("a tree of %d files of %s: %s", n, p.name, brief(err))
		}
	}
	n := b.scale.flat
	if err := b.tree(ctx, p, fmt.Sprintf("%d files in one directory", n), n, n); err != nil {
		b.sheet.note("one directory of %d files of %s: %s", n, p.name, brief(err))
	}
	return nil
}

// tree measures p on a tree of n files.
func (b *bench) tree(ctx context.Context, p peer, name string, n, perDir int) error {
	dir, err := b.grown(ctx, n, perDir)
	if err != nil {
		return err
	}
	if !b.alone {
		name = p.name + ", " + name
	}
	add := func(what, unit string, value float64) { b.sheet.add(row{growthTable, what, unit}, name, value) }
	p.stdio = append(p.stdio[:len(p.stdio):len(p.stdio)], "--log-level", "debug") // which tells when all is known
	ch, took, err := b.startStdio(ctx, p, dir)
	if err != nil {
		return err
	}
	defer ch.end()
	guard := time.AfterFunc(2*time.Minute, func() { _ = ch.command.Process.Kill() })
	defer guard.Stop()
	add("start to first answer", "ms", milli(took))
	if _, err := ch.err.await(ctx, "is watched", startWithin); err != nil {
		return err
	}
	add("start until all is listed and watched", "ms", milli(time.Since(ch.started)))
	cpu, err := ch.cpu()
	if err != nil {
		return err
	}
	add("CPU until then", "ms", milli(cpu))
	if err := b.residentPerFile(ctx, ch, n, add); err != nil {
		return err
	}
	if err := b.pagesOf(ctx, ch, n, perDir, add); err != nil {
		return err
	}
	return b.saves(ctx, ch, dir, n, perDir, add)
}

// residentPerFile tells the memory, and of each file that there is more than in the smallest tree.
func (b *bench) residentPerFile(ctx context.Context, ch *child, n int, add func(string, string, float64)) error {
	if _, err := settled(ctx, ch); err != nil {
		return err
	}
	m, err := ch.memory()
	if err != nil {
		return err
	}
	add("memory", "MB", float64(m.now)/1e6)
	add("memory at most", "MB", float64(m.peak)/1e6)
	smallest := b.scale.trees[0]
	if n <= smallest {
		b.resident[ch.name] = m.now
		return nil
	}
	add("memory of each file more", "B", float64(m.now-b.resident[ch.name])/float64(n-smallest))
	return nil
}

// grown returns a directory with n files, which is made for the first who asks.
func (b *bench) grown(ctx context.Context, n, perDir int) (string, error) {
	dir := filepath.Join(b.scratch, fmt.Sprintf("tree-%d-%d", n, perDir))
	if exists(dir) {
		return dir, nil
	}
	part := dir + ".part" // until it is complete
	for i := range n {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		path := filepath.Join(part, treeName(i, perDir))
		if i%perDir == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return "", err
			}
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o644); err != nil {
			return "", err
		}
	}
	return dir, os.Rename(part, dir)
}

// treeName names file i of a tree, whose directories lie in others, 40 in each.
func treeName(i, perDir int) string {
	d := i / perDir
	return fmt.Sprintf("part-%02d/section-%02d/document-%07d.md", d/40, d%40, i)
}

// pagesOf asks for pages of 1,000 at the beginning, in the middle and at the end of the list, each once for the caches and then
// again and again.
func (b *bench) pagesOf(ctx context.Context, ch *child, n, perDir int, add func(string, string, float64)) error {
	cursors, err := walk(ctx, ch)
	if err != nil {
		return err
	}
	if want := (n + 999) / 1000; len(cursors) < want {
		return fmt.Errorf("the list ends after %d pages of 1,000, of %d files", len(cursors), n)
	}
	for _, place := range []struct {
		name string
		at   int
	}{{"first", 0}, {"middle", len(cursors) / 2}, {"last", (n - 1) / 1000}} {
		if n <= 1000 && place.name != "first" {
			continue
		}
		before, err := ch.cpu()
		if err != nil {
			return err
		}
		start := time.Now()
		for i := range pages {
			if _, err := ch.ask(ctx, list(cursors[place.at]), 1000+i); err != nil {
				return err
			}
		}
		wall := time.Since(start)
		after, err := ch.cpu()
		if err != nil {
			return err
		}
		add(place.name+" page of 1,000, warm: CPU", "µs", micro(after-before)/pages)
		add(place.name+" page of 1,000, warm", "µs", micro(wall)/pages)
	}
	return nil
}

// walk asks for all pages, and returns the cursor of each.
func walk(ctx context.Context, ch *child) ([]string, error) {
	cursors := []string{""}
	for {
		said, err := ch.ask(ctx, list(cursors[len(cursors)-1]), len(cursors)+10)
		if err != nil {
			return nil, err
		}
		next, err := nextCursor(said)
		if err != nil {
			return nil, err
		}
		if next == "" {
			return cursors, nil
		}
		cursors = append(cursors, next)
	}
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

// saves measures from saving a file to its announcement, and what a file that is new costs.
func (b *bench) saves(ctx context.Context, ch *child, dir string, n, perDir int, add func(string, string, float64)) error {
	name := treeName(n/2, perDir)
	said, err := ch.ask(ctx, listenTo(uriBase+name), 1)
	if err != nil {
		return err
	}
	if !bytes.Contains(said, acknowledged) {
		return fmt.Errorf("the server answers %.300q to a listen", said)
	}
	var took, cost []float64
	for i := range b.scale.saves {
		before, err := settled(ctx, ch)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := overwrite(filepath.Join(dir, name), fmt.Sprintf("version %d\n", i)); err != nil {
			return err
		}
		if said, err = ch.line(); err != nil {
			return err
		}
		took = append(took, milli(time.Since(start)))
		if !bytes.Contains(said, updated) {
			return errors.New("a save was not announced")
		}
		after, err := settled(ctx, ch)
		if err != nil {
			return err
		}
		cost = append(cost, micro(after-before))
	}
	add("one save, announced after", "ms", median(took))
	add("one save: CPU", "µs", median(cost))
	return nil
}
