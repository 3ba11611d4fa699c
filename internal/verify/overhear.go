package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// crossing is how long what was said before the last listen was open may be on its way to others.
const crossing = time.Second

// watching is how long a server that says something by itself is watched for changes that its answers show.
const watching = 3 * time.Second

// overhear waits until the server has told something by itself to everybody who wants to hear of it. Meanwhile it looks
// whether the answers of the server show changes, of which the listens must then be told.
func (p *probe) overhear(ctx context.Context, l *link) {
	pause(ctx, crossing)
	own := &Change{Own: true}
	p.add(Entry{Conn: l.number, Kind: Changing, Change: own})
	looks := p.startLooks(ctx, l)
	all := []*Change{own}
	for _, k := range looks {
		all = append(all, k.change)
	}
	begun := time.Now()
	told := func(v *view) bool {
		seen := slices.ContainsFunc(looks, func(k *sight) bool { return k.shown }) || time.Since(begun) >= min(watching, p.wait)
		return seen && v.allTold(all...)
	}
	for time.Since(begun) < p.wait && ctx.Err() == nil && !l.unfit() {
		if p.until(ctx, min(watching/6, p.wait), told) {
			break
		}
		for _, k := range looks {
			p.again(ctx, l, k)
		}
	}
	// Whether a listen has missed something is certain only some time after it is told again.
	p.until(ctx, 2*p.rec.Patience, func(v *view) bool { return v.allTold(all...) || !v.somethingDue(all) })
	p.mu.Lock()
	p.talks = p.talks || p.view.somethingDue(all)
	p.mu.Unlock()
	p.quiet = !p.talks
	p.settled(ctx, l, all...)
}

// somethingDue reports whether any of these changes has to be told.
func (v *view) somethingDue(all []*Change) bool {
	return slices.ContainsFunc(v.windows, func(w *window) bool {
		return slices.Contains(all, w.change) && len(v.outcomes(w, len(v.rec.Entries)-1)) > 0
	})
}

// sight is what is looked at again and again: a resource or, without a URI, the list of all.
type sight struct {
	change *Change
	uri    string
	before string
	shown  bool
}

// mostLooks is how many resources are looked at.
const mostLooks = 3

// steady is how many looks there are at most for two in a row to be the same: what changes now and then may do so between two.
const steady = 4

// startLooks takes a first look at some resources and at the list. What changes from each look to the next, such as a
// resource that is made anew for each reader, tells nothing.
func (p *probe) startLooks(ctx context.Context, l *link) (all []*sight) {
	uris := append([]string{""}, p.uris[:min(mostLooks, len(p.uris))]...)
	if !p.rec.Serves.HasResources {
		return nil
	}
	for _, uri := range uris {
		k := &sight{change: &Change{What: Subject{Method: updated, URI: uri}}, uri: uri}
		if uri == "" {
			k.change.What.Method = resourcesChanged
		}
		if p.isDead(k.change.What.Method) || l.unfit() {
			continue
		}
		p.add(Entry{Conn: l.number, Kind: Changing, Change: k.change})
		if text, is := p.holdsStill(ctx, l, k); is {
			k.before = text
			all = append(all, k)
		}
	}
	return all
}

// holdsStill takes looks until two in a row are the same.
func (p *probe) holdsStill(ctx context.Context, l *link, k *sight) (text string, is bool) {
	for look := range steady {
		now, ok := p.glance(ctx, l, k.uri)
		if !ok {
			return "", false
		}
		if look > 0 && now == text {
			return text, true
		}
		text = now
	}
	p.add(Entry{Conn: l.number, Kind: Restless, Change: k.change})
	return "", false
}

// again takes another look.
func (p *probe) again(ctx context.Context, l *link, k *sight) {
	if k.shown || l.unfit() {
		return
	}
	if now, ok := p.glance(ctx, l, k.uri); ok && now != k.before {
		k.shown = true
		p.add(Entry{Conn: l.number, Kind: Shown, Change: k.change})
	}
}

// glance is what the server says of a resource or, without a URI, which resources it lists.
func (p *probe) glance(ctx context.Context, l *link, uri string) (text string, ok bool) {
	if uri != "" {
		answer := l.ask(ctx, "resources/read", map[string]any{"uri": uri}, Plain)
		var contents []struct{ URI, Text, Blob string } // in whatever order their members are
		ok = json.Unmarshal(contentsOf(answer), &contents) == nil
		return fmt.Sprintf("%q", contents), ok
	}
	var uris []string
	walked := p.walk(ctx, l, func(uri, _ string) bool {
		uris = append(uris, uri)
		return false
	})
	slices.Sort(uris)
	return strings.Join(uris, "\n"), walked
}
