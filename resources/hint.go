package resources

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// hint is a batch, as a tree: what it says of a path, and of the paths below.
type hint struct {
	evidence watcher.Evidence
	rescan   bool
	sub      map[string]*hint
}

func hintsOf(b watcher.Batch) *hint {
	top := &hint{}
	for _, d := range b.Dirty {
		top.at(d.Path).evidence |= d.Evidence
	}
	for _, dir := range b.Rescan {
		top.at(dir).rescan = true
	}
	return top
}

// at returns the hint for rel, which it makes if need be.
func (h *hint) at(rel string) *hint {
	for rel != "" {
		var seg string
		seg, rest, _ := strings.Cut(rel, "/")
		if h.sub == nil {
			h.sub = make(map[string]*hint)
		}
		next := h.sub[seg]
		if next == nil {
			next = &hint{}
			h.sub[seg] = next
		}
		h, rel = next, rest
	}
	return h
}

// names returns the names below, sorted.
func (h *hint) names() []string {
	if h == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(h.sub))
}

// each calls f for h, whose path is rel, and for every hint below.
func (h *hint) each(rel string, f func(rel string, h *hint)) {
	f(rel, h)
	for name, sub := range h.sub {
		sub.each(join(rel, name), f)
	}
}

// tells reports whether the batch speaks of rel itself, or has a directory at or above it looked through.
func (h *hint) tells(rel string) bool {
	for {
		if h == nil {
			return false
		}
		if h.rescan || rel == "" && h.evidence != 0 {
			return true
		}
		if rel == "" {
			return false
		}
		seg, rest, _ := strings.Cut(rel, "/")
		h, rel = h.sub[seg], rest
	}
}

// covers reports whether the batch has a directory at or above rel looked through.
func (h *hint) covers(rel string) bool {
	for h != nil && !h.rescan {
		if rel == "" {
			return false
		}
		seg, rest, _ := strings.Cut(rel, "/")
		h, rel = h.sub[seg], rest
	}
	return h != nil
}

func (h *hint) saysOf(name string, ev watcher.Evidence) bool {
	sub := h.sub[name]
	return sub != nil && sub.evidence&ev != 0
}
