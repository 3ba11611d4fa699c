package client

import (
	"sync"
	"time"
)

// cache remembers answers while the server says that they are fresh (server/utilities/caching, "Time-to-Live"): a read
// under its URI, and a walk of the whole list until the first of its pages is stale.
type cache struct {
	max int // bytes of contents

	mu    sync.Mutex // guards what follows
	reads map[string]*cached
	order []string // of reads, the oldest first; some may be gone
	bytes int
	list  []*Resource
	until time.Time // of list
}

type cached struct {
	contents []Content
	until    time.Time
	bytes    int
}

func newCache(maxBytes int) *cache {
	return &cache{max: maxBytes, reads: map[string]*cached{}}
}

func (c *cache) read(uri string) ([]Content, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.reads[uri]
	if got == nil {
		return nil, false
	}
	if !time.Now().Before(got.until) {
		c.dropLocked(uri)
		return nil, false
	}
	return got.contents, true
}

func (c *cache) keep(uri string, contents []Content, until time.Time) {
	size := len(uri)
	for _, part := range contents {
		size += len(part.Data) + len(part.URI)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(uri)
	if !time.Now().Before(until) || size > c.max {
		return
	}
	c.reads[uri] = &cached{contents, until, size}
	c.order = append(c.order, uri)
	c.bytes += size
	for c.bytes > c.max {
		c.dropLocked(c.order[0])
		c.order = c.order[1:]
	}
	if len(c.order) > 2*len(c.reads)+16 {
		c.compactLocked()
	}
}

// compactLocked forgets the places of what is gone, and all but one of what came back.
func (c *cache) compactLocked() {
	seen := make(map[string]bool, len(c.reads))
	order := make([]string, 0, len(c.reads))
	for _, uri := range c.order {
		if c.reads[uri] != nil && !seen[uri] {
			seen[uri] = true
			order = append(order, uri)
		}
	}
	c.order = order
}

func (c *cache) dropLocked(uri string) {
	if got := c.reads[uri]; got != nil {
		c.bytes -= got.bytes
		delete(c.reads, uri)
	}
}

func (c *cache) drop(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(uri)
}

// listing calls noted before the list can be dropped, if it is fresh: later is too late to tell of what is not on it any more.
func (c *cache) listing(noted func()) ([]*Resource, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !time.Now().Before(c.until) {
		return nil, false
	}
	noted()
	return c.list, true
}

func (c *cache) keepList(list []*Resource, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.max < 0 {
		until = time.Time{}
	}
	if !time.Now().Before(until) {
		list = nil
	}
	c.list, c.until = list, until
}

func (c *cache) dropList() { c.keepList(nil, time.Time{}) }

// clear forgets everything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads, c.order, c.bytes = map[string]*cached{}, nil, 0
	c.list, c.until = nil, time.Time{}
}
