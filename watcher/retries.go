package watcher

import "time"

const (
	retryFirst = time.Second // until a path is named again that the consumer could not look at
	retryMost  = 30 * time.Second
)

// retries holds the paths the consumer could not look at, at most maxPaths of them.
type retries struct {
	held map[string]retry
	next time.Time                // the first is due; zero when there are none
	told map[string]time.Duration // paths the next batch names again, and how long each was held
}

type retry struct {
	wait time.Duration
	due  time.Time
}

// due takes out every path whose time has come, to be named in the next batch.
func (r *retries) due(now time.Time) (paths []string) {
	if r.next.IsZero() || now.Before(r.next) {
		return nil
	}
	r.told = map[string]time.Duration{}
	for path, x := range r.held {
		if !x.due.After(now) {
			paths = append(paths, path)
			r.told[path] = x.wait
			delete(r.held, path)
		}
	}
	r.prune()
	return paths
}

// answer takes what the consumer of a batch could not look at. The time of a path that is held already stands, or one that fails
// in batch after batch would never have its turn.
func (r *retries) answer(paths []string, now time.Time) {
	told := r.told
	r.told = nil
	if len(paths) == 0 {
		return
	}
	if r.held == nil {
		r.held = map[string]retry{}
	}
	same := map[time.Duration]time.Time{} // paths of one answer that wait equally long become due together
	for _, path := range topmost(paths) {
		if _, held := r.held[path]; held {
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
		r.held[path] = retry{wait, due}
	}
	if len(r.held) > maxPaths {
		r.held = map[string]retry{"": {retryFirst, now.Add(jitter(retryFirst))}}
	}
	r.prune()
}

// prune drops what needs no turn of its own: a path above is named no later. Or one of the two would be looked at twice, and a
// consumer that gives up on everything, batch after batch, would have ever more to do.
func (r *retries) prune() {
	r.next = time.Time{}
	for path, x := range r.held {
		if r.covers(path, x.due) {
			delete(r.held, path)
		} else {
			r.next = earliest(r.next, x.due)
		}
	}
}

// covers reports whether a path above the given one is named at due or before.
func (r *retries) covers(path string, due time.Time) bool {
	for path != "" {
		path = parent(path)
		if x, held := r.held[path]; held && !x.due.After(due) {
			return true
		}
	}
	return false
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
