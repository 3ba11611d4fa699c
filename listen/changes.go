package listen

import "slices"

// maxChanges is how many changes beneath its URI one message names. A client that is told of more does better to look at
// all of it again, and what is owed to it stays bounded.
const maxChanges = 64

// changes are the keys that changed beneath the URI of an item since its last message, each once, sorted.
type changes struct {
	keys []string
	few  [4]string // room for the usual number
}

// tooMany stands for more changes than one message names.
var tooMany = new(changes)

// add returns c with key. A nil c holds none.
func (c *changes) add(key string) *changes {
	switch c {
	case tooMany:
		return c
	case nil:
		c = new(changes)
		c.keys = c.few[:0]
	}
	at := len(c.keys)
	if at > 0 && key <= c.keys[at-1] { // the keys of one Publish usually come sorted
		var found bool
		if at, found = slices.BinarySearch(c.keys, key); found {
			return c
		}
	}
	if len(c.keys) == maxChanges {
		return tooMany
	}
	c.keys = slices.Insert(c.keys, at, key)
	return c
}

// named are the keys that a message names: none if there are none or too many.
func (c *changes) named() []string {
	if c == nil {
		return nil
	}
	return c.keys
}
