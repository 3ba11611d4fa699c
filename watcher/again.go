package watcher

import "time"

const (
	retryFirst = time.Second // until a path is named again that the consumer could not look at
	retryMost  = 30 * time.Second
)

// again holds the paths the consumer could not look at.
type again struct {
	held map[string]retry
	next time.Time                // no entry is due before; zero when there are none
	told map[string]time.Duration // paths the next batch names again, and how long each was held
}

type retry struct {
	wait time.Duration
	due  time.Time
}

// due takes out every path whose time has come, to be named in the next batch.
func (a *again) due(now time.Time) (paths []string) {
	if a.next.IsZero() || now.Before(a.next) {
		return nil
	}
	if a.told == nil {
		a.told = map[string]time.Duration{}
	}
	a.next = time.Time{}
	for path, r := range a.held {
		if r.due.After(now) {
			a.next = earliest(a.next, r.due)
			continue
		}
		paths = append(paths, path)
		a.told[path] = r.wait
		delete(a.held, path)
	}
	return paths
}

// answer takes what the consumer of a batch could not look at. The time of a path that is held already stands, or one that fails
// in batch after batch would never have its turn.
func (a *again) answer(paths []string, now time.Time) {
	told := a.told
	a.told = nil
	same := map[time.Duration]time.Time{} // paths of one answer that wait equally long become due together
	for _, path := range topmost(paths) {
		if _, held := a.held[path]; held {
			continue
		}
		wait := retryFirst
		if last, ok := above(told, path); ok {
			wait = min(2*last, retryMost)
		}
		due, ok := same[wait]
		if !ok {
			due = now.Add(jitter(wait))
			same[wait] = due
		}
		if a.held == nil {
			a.held = map[string]retry{}
		}
		a.held[path] = retry{wait, due}
		a.next = earliest(a.next, due)
	}
}

// above finds the entry of path, or of the nearest directory above: a consumer that was let in there may fail below.
func above(told map[string]time.Duration, path string) (wait time.Duration, ok bool) {
	for len(told) > 0 {
		if wait, ok = told[path]; ok || path == "" {
			return wait, ok
		}
		path = parent(path)
	}
	return 0, false
}
