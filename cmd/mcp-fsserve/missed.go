package main

import (
	"log/slog"
	"path"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// missed adds up what the roots have left out. Where there are several an example begins with the root's name, as in the
// list.
func missed(roots []*resources.Root) (sum resources.Missed) {
	for _, r := range roots {
		m := r.Missed()
		if sum.Dirs == 0 && m.Dirs > 0 {
			sum.Example, sum.Reason = path.Clean(m.Example), m.Reason
			if len(roots) > 1 {
				sum.Example = path.Join(r.Name(), m.Example)
			}
		}
		sum.Dirs += m.Dirs
		if m.Passing != "" {
			sum.Passing = m.Passing
		}
	}
	return sum
}

// incomplete is the error of a list in which something is missing that the server would look at again in a moment.
func incomplete(m resources.Missed) error {
	if m.Passing == "" {
		return nil
	}
	return withHint("run it again; if files cannot be opened for want of descriptors, raise ulimit -n", "the list is not complete: %s", m.Passing)
}

// tellMissed warns once of all that cannot be read.
func tellMissed(m resources.Missed, log *slog.Logger) {
	if m.Dirs > 0 {
		log.Warn("directories cannot be read, so that nothing in them is served",
			"count", m.Dirs, "example", m.Example, "reason", m.Reason)
	}
}
