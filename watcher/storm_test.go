package watcher

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

var (
	stormSeed   = flag.Uint64("storm.seed", 0, "play this one storm; 0: random ones")
	stormRounds = flag.Int("storm.rounds", 0, "storms to play instead of the default number")
)

// storms yields the seeds to play.
func storms(rounds int) []uint64 {
	if *stormSeed != 0 {
		return []uint64{*stormSeed}
	}
	if *stormRounds > 0 {
		rounds = *stormRounds
	}
	seeds := make([]uint64, rounds)
	for i := range seeds {
		seeds[i] = rand.Uint64() | 1
	}
	return seeds
}

// world is a tree and what a user can do to it. Paths are absolute; errors are those of Linux.
type world interface {
	viewer
	mkdir(path string) error
	write(path string) error
	remove(path string) error
	rename(from, to string) error
	exchange(a, b string) error
	symlink(target, path string) error
	chmod(path string, mode modelMode) error
	accessible(path string) bool
}

// storm does random things in base/in, which is watched, and base/out, which is not.
type storm struct {
	world
	base string
	rng  *rand.Rand
}

func (s *storm) start() error {
	for _, dir := range []string{s.base, s.path("in"), s.path("out")} {
		if err := s.mkdir(dir); err != nil {
			return fmt.Errorf("mkdir %s: %w", dir, err)
		}
	}
	return nil
}

func (s *storm) path(rel string) string { return filepath.Join(s.base, filepath.FromSlash(rel)) }

func (s *storm) pick(names string) string { return string(names[s.rng.IntN(len(names))]) }

// dir names a directory that may exist, mostly a watched one.
func (s *storm) dir() string {
	elems := []string{s.base, "in"}
	if s.rng.IntN(12) == 0 {
		elems[1] = "out"
	}
	for range 1 + s.rng.IntN(4) {
		elems = append(elems, s.pick("abc"))
	}
	return filepath.Join(elems...)
}

func (s *storm) file() string {
	dir := s.dir()
	if s.rng.IntN(4) == 0 {
		dir = s.path("in")
	}
	return filepath.Join(dir, s.pick("fgh"))
}

// step does one thing. That it fails, because nothing is there or something is in the way, is part of the storm.
func (s *storm) step() {
	switch n := s.rng.IntN(100); {
	case n < 25:
		_ = s.write(s.file())
	case n < 37:
		_ = s.mkdir(s.dir())
	case n < 45:
		dir := s.dir()
		s.mkdirAll(dir)
		_ = s.write(filepath.Join(dir, s.pick("fgh")))
	case n < 57:
		_ = s.rename(s.dir(), s.dir())
	case n < 70:
		_ = s.exchange(s.dir(), s.dir())
	case n < 75:
		s.removeAll(s.dir())
	case n < 79:
		_ = s.remove(s.file())
	case n < 83:
		dir := s.dir()
		s.removeAll(dir)
		_ = s.mkdir(dir)
	case n < 88:
		f := s.file()
		_ = s.write(f + "~")
		_ = s.rename(f+"~", f)
	case n < 92:
		a, b := s.dir(), s.dir()
		_ = s.rename(a, b)
		_ = s.rename(b, a)
	case n < 95:
		a, b := s.dir(), s.dir()
		_ = s.exchange(a, b)
		_ = s.exchange(a, b)
	case n < 97:
		path := s.dir()
		s.removeAll(path)
		_ = s.symlink(s.dir(), path)
	case n < 99:
		_ = s.chmod(s.dir(), modelMode(s.rng.IntN(4)))
	default:
		_ = s.exchange(s.file(), s.dir())
	}
}

func (s *storm) mkdirAll(dir string) {
	rest := strings.TrimPrefix(dir, s.base)
	at := s.base
	for _, elem := range parts(rest) {
		at = filepath.Join(at, elem)
		_ = s.mkdir(at)
	}
}

func (s *storm) removeAll(path string) {
	if e, ok := s.look(path); ok && e.kind == 'd' {
		for _, name := range s.list(path) {
			s.removeAll(filepath.Join(path, name))
		}
	}
	_ = s.remove(path)
}

// calm makes everything accessible again, and touches nothing that is.
func (s *storm) calm(path string) {
	if e, ok := s.look(path); !ok || e.kind != 'd' {
		return
	}
	if !s.accessible(path) {
		_ = s.chmod(path, 0)
	}
	for _, name := range s.list(path) {
		s.calm(filepath.Join(path, name))
	}
}
