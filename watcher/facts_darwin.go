package watcher

import (
	"os"
	"time"
)

// factsAt looks at a name in an open directory, or with "" at the directory.
func factsAt(f *os.File, name string, _ age) (facts, error) { return oldFactsAt(f, name) }

func clockTick() time.Duration { return slowestTick }
