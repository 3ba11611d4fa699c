// Package queue is the application of the examples: jobs arrive, are worked on and end, and a clock ticks. It says what
// changed, under URIs, and has never heard of MCP.
//
// All methods may be called from any goroutine. [Queue.Run] blocks until its context ends, [Queue.Ended] until a job ends;
// the others wait for nobody. The package starts no goroutine.
package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The URIs of a queue that are always there. Each job has one of its own beneath Jobs, such as queue:///jobs/7.
const (
	Clock = "queue:///clock"
	Jobs  = "queue:///jobs"
)

// remembered is how many jobs that have ended a queue keeps for those who ask for them late.
const remembered = 100

// Job is done after some steps.
type Job struct {
	Number int  `json:"number"` // from 1, in the order of arrival
	Steps  int  `json:"steps"`  // until it ends
	Done   int  `json:"done"`   // of those
	Failed bool `json:"failed"` // known when it has ended
}

// URI is where the job can be read until it ends.
func (j Job) URI() string { return fmt.Sprintf("%s/%d", Jobs, j.Number) }

// Change is what one tick has changed, as URIs.
type Change struct {
	Updated []string // what has other contents
	Added   []string // what is there now
	Removed []string // what is there no more
}

// Queue is a clock and the jobs that are worked on. Make one with New.
type Queue struct {
	mu    sync.Mutex
	ticks int           // guarded by mu, as all below
	last  int           // number of the job that arrived last
	jobs  []Job         // being worked on, in the order of arrival
	ended []Job         // the last ones that have ended, in that order
	count int           // of all that have ever ended
	news  chan struct{} // closed, and replaced, when a job has ended
}

// New makes a queue with two jobs.
func New() *Queue {
	q := &Queue{news: make(chan struct{})}
	q.arriveLocked()
	q.arriveLocked()
	return q
}

// Run ticks at an interval until ctx ends, and hands each Change to changed.
func (q *Queue) Run(ctx context.Context, interval time.Duration, changed func(Change)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			changed(q.Tick())
		}
	}
}

// Tick takes every job one step further, and the clock. With every second tick another job arrives, unless there are four.
func (q *Queue) Tick() Change {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ticks++
	change := Change{Updated: []string{Clock, Jobs}}
	q.jobs = slices.DeleteFunc(q.jobs, func(j Job) bool { return j.Done+1 == j.Steps && q.endLocked(j, &change) })
	for i := range q.jobs {
		q.jobs[i].Done++
		change.Updated = append(change.Updated, q.jobs[i].URI())
	}
	if q.ticks%2 == 0 && len(q.jobs) < 4 {
		change.Added = append(change.Added, q.arriveLocked().URI())
	}
	return change
}

// arriveLocked adds a job of two to six steps.
func (q *Queue) arriveLocked() Job {
	q.last++
	j := Job{Number: q.last, Steps: 2 + 3*q.last%5}
	q.jobs = append(q.jobs, j)
	return j
}

// endLocked ends a job. Each third one fails.
func (q *Queue) endLocked(j Job, change *Change) bool {
	j.Done, j.Failed = j.Steps, j.Number%3 == 0
	if q.ended = append(q.ended, j); len(q.ended) > remembered {
		q.ended = q.ended[1:]
	}
	q.count++
	close(q.news)
	q.news = make(chan struct{})
	change.Removed = append(change.Removed, j.URI())
	return true
}

// URIs is what can be read now.
func (q *Queue) URIs() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	uris := []string{Clock, Jobs}
	for _, j := range q.jobs {
		uris = append(uris, j.URI())
	}
	return uris
}

// Has reports whether a URI can be read now.
func (q *Queue) Has(uri string) bool { return slices.Contains(q.URIs(), uri) }

// Read returns what is at a URI now, as JSON.
func (q *Queue) Read(uri string) (text string, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch uri {
	case Clock:
		return encode(map[string]int{"ticks": q.ticks}), true
	case Jobs:
		return encode(q.jobs), true
	}
	for _, j := range q.jobs {
		if j.URI() == uri {
			return encode(j), true
		}
	}
	return "", false
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // there are numbers and booleans in it, and nothing else
	}
	return string(text)
}

// Count is how many jobs have ended.
func (q *Queue) Count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Ended returns the job that ended after the first n, and how many have ended with it: n for the next call. It waits for
// one, or for the end of ctx, whose cause is the error. Who is more than a hundred jobs late misses the oldest of them, so
// that a slow reader costs no memory.
func (q *Queue) Ended(ctx context.Context, n int) (ended Job, next int, err error) {
	for {
		q.mu.Lock()
		news := q.news
		if n < q.count {
			oldest := q.count - len(q.ended)
			n = max(n, oldest)
			ended = q.ended[n-oldest]
			q.mu.Unlock()
			return ended, n + 1, nil
		}
		q.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return Job{}, n, context.Cause(ctx)
		}
	}
}
