package main

import (
	"slices"
	"time"
)

// scale is how much is measured.
type scale struct {
	rounds      int
	connections int           // that ask at once
	rate        int           // requests a second, where it is fixed
	warm        time.Duration // for which one request is repeated before it is measured
	while       time.Duration // for which it is repeated then
	listens     []int         // how many are open
	idle        time.Duration // for which open listens are watched that are told nothing, in the first round; 0: none
	deliveries  int           // changes that all listens are told of
	trees       []int         // files in the directories that are grown
	flat        int           // files in the one directory that has no subdirectory
	uris        []int         // that each listen asks for
	urisAt      int           // how many listens those are
	changes     []int         // files that are changed in one burst
	bursts      int           // of each size
	reads       int           // on a pipe
	starts      int           // for the time that one takes
	saves       int           // of one file in a tree
	newFiles    int           // in a tree
	storm       int           // changes of each file that a stalled reader does not take
	huge        int           // bytes in the largest file
	patience    time.Duration // with a server that does not come to rest
}

// quickTakes is how long quick takes on two cores, as the flags say it.
const quickTakes = "two or three minutes"

var (
	whole = scale{rounds: 3, connections: 8, rate: 200, warm: 3 * time.Second, while: time.Second, listens: []int{1000, 4000, 16000}, idle: 16 * time.Second,
		deliveries: 5, trees: []int{1_000, 10_000, 100_000}, flat: 200_000, uris: []int{1, 50, 500}, urisAt: 1000,
		changes: []int{1, 100, 10_000}, bursts: 3, reads: 20_000, starts: 5, saves: 10, newFiles: 4, storm: 20, huge: 64 << 20, patience: time.Minute}
	quick = scale{rounds: 1, connections: 8, rate: 200, warm: time.Second, while: 300 * time.Millisecond, listens: []int{1000},
		deliveries: 3, trees: []int{1_000, 10_000}, flat: 10_000, uris: []int{1, 50, 500}, urisAt: 200,
		changes: []int{1, 100, 1000}, bursts: 2, reads: 5_000, starts: 3, saves: 5, newFiles: 2, storm: 20, huge: 64 << 20, patience: time.Minute}
)

// The most that the flags take.
const (
	maxListens = 65_000     // of which the product is told to allow one address some more
	maxFiles   = 10_000_000 // for which there is a name in a tree
	maxURIs    = 1_000      // for which there are files in the fixture
	maxChanges = 50_000     // whose URIs make a line of 4 MiB at most, which is what the product reads
)

// take takes what is given, where that is not zero.
func (s *scale) take(given scale) {
	set(&s.rounds, given.rounds)
	set(&s.connections, given.connections)
	set(&s.rate, given.rate)
	set(&s.while, given.while)
	set(&s.flat, given.flat)
	setAll(&s.listens, given.listens)
	setAll(&s.trees, given.trees)
	setAll(&s.uris, given.uris)
	setAll(&s.changes, given.changes)
}

func set[T int | time.Duration](to *T, value T) {
	if value != 0 {
		*to = value
	}
}

func setAll(to *[]int, values []int) {
	if len(values) > 0 {
		*to = values
	}
}

// many is how many listens are open where one number has to do: 4,000, or the most there are.
func (s scale) many() int {
	if slices.Contains(s.listens, 4000) {
		return 4000
	}
	return slices.Max(s.listens)
}
