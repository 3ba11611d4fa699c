package storm

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// own makes and removes files in a directory of its own, and asks for the list after each operation: it must be told of what
// it did itself, however busy the others are.
type own struct {
	*storm
	log   *journal
	rng   *planner
	there map[string]bool // files
}

const (
	ownDir    = "own"
	ownWithin = 900 * time.Millisecond // longer than a second no answer waits for what has just happened
)

func (o *own) play() {
	for range 3 + o.rng.IntN(12) {
		d := deed{start: time.Now(), touched: []string{ownDir}}
		d.kind = o.step()
		d.end = time.Now()
		o.log.mu.Lock()
		o.log.deeds = append(o.log.deeds, d)
		o.log.mu.Unlock()
		got, ok := o.walk()
		o.asked++
		if !ok {
			o.late++
		} else if want := slices.Sorted(maps.Keys(o.there)); !slices.Equal(got, want) {
			o.Errorf("after %s: the list has %q, want %q", d.kind, got, want)
			return
		}
		time.Sleep(o.rng.pause(20 * time.Millisecond))
	}
}

// step does one thing, and says which.
func (o *own) step() string {
	at := path.Join(ownDir, o.rng.pick("", "d", "d/e", "h/d"), o.rng.pick("f.text", "g.text"))
	abs := filepath.Join(o.root, at)
	switch o.rng.IntN(6) {
	case 0:
		o.try(os.RemoveAll(abs))
		delete(o.there, at)
		return "removing " + at
	case 1:
		o.try(os.RemoveAll(filepath.Join(o.root, ownDir, "d")))
		maps.DeleteFunc(o.there, func(p string, _ bool) bool { return below(p, ownDir+"/d") })
		return "removing d"
	case 2:
		return o.swap()
	}
	o.try(os.MkdirAll(filepath.Dir(abs), 0o755))
	o.try(os.WriteFile(abs, nil, 0o644))
	o.there[at] = true
	return "writing " + at
}

// swap has two directories change places.
func (o *own) swap() string {
	d, h, aside := filepath.Join(o.root, ownDir, "d"), filepath.Join(o.root, ownDir, "h"), filepath.Join(o.root, ownDir, "aside")
	for _, dir := range []string{d, h} {
		o.try(os.MkdirAll(dir, 0o755))
	}
	o.try(os.Rename(d, aside))
	o.try(os.Rename(h, d))
	o.try(os.Rename(aside, h))
	swapped := map[string]bool{}
	for p := range o.there {
		if rest, ok := strings.CutPrefix(p, ownDir+"/d/"); ok {
			p = ownDir + "/h/" + rest
		} else if rest, ok := strings.CutPrefix(p, ownDir+"/h/"); ok {
			p = ownDir + "/d/" + rest
		}
		swapped[p] = true
	}
	clear(o.there)
	maps.Copy(o.there, swapped)
	return "swapping d and h"
}

// walk returns the files in the directory that are listed, not ok if an answer may have been given up waiting.
func (o *own) walk() (files []string, ok bool) {
	ok = true
	params := map[string]any{}
	for {
		var page struct {
			Resources  []struct{ URI string }
			NextCursor string
		}
		asked := time.Now()
		if code := o.host.call("resources/list", params, &page); code != 0 {
			o.Errorf("resources/list was answered with error %d", code)
			return nil, false
		}
		ok = ok && time.Since(asked) < ownWithin
		for _, r := range page.Resources {
			if p, below := strings.CutPrefix(r.URI, o.host.uri(ownDir+"/")); below {
				files = append(files, ownDir+"/"+p)
			}
		}
		if page.NextCursor == "" {
			slices.Sort(files)
			return files, ok
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
}

func (o *own) try(err error) {
	if err != nil {
		o.Error(err)
	}
}
