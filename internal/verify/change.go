package verify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// thing is a resource that the probe has made.
type thing struct{ name, uri string }

// prepare makes two resources and finds their URIs. Without them, when the server does not list them, the probe waits for
// what the server says by itself, and tells so.
func (p *probe) prepare(ctx context.Context, l *link) error {
	var made [2]*thing
	for i := range made {
		t := &thing{name: p.newName()}
		if err := p.world.Put(t.name, p.newText()); err != nil {
			return fmt.Errorf("nothing can be changed: %w", err)
		}
		made[i] = t
	}
	p.poll(ctx, l, func() bool {
		for _, t := range made {
			t.uri = p.find(ctx, l, t.name)
		}
		return made[0].uri != "" && made[1].uri != ""
	})
	if made[0].uri != "" && made[1].uri != "" {
		p.first, p.second = made[0], made[1]
	} else if ctx.Err() == nil {
		p.unlisted()
	}
	return nil
}

// newName is one that no other program and no other run of this one uses.
func (p *probe) newName() string {
	p.lastID++
	return fmt.Sprintf("mcp-fsserve-verify-%d-%d.txt", os.Getpid(), p.lastID)
}

func (p *probe) newText() string {
	p.lastID++
	return fmt.Sprintf("written to see who is told of it, for the %dth time\n", p.lastID)
}

// poll asks again and again, at longer and longer intervals, until done says so or the server has had its time.
func (p *probe) poll(ctx context.Context, l *link, done func() bool) bool {
	ctx, stop := context.WithTimeout(ctx, p.rec.Patience)
	defer stop()
	for interval := 50 * time.Millisecond; !done(); interval = min(2*interval, time.Second) {
		pause(ctx, interval)
		if ctx.Err() != nil || l.unfit() {
			return false
		}
	}
	return true
}

// mostPages bounds how far a list is walked.
const mostPages = 1000

// walk visits what the server lists, until visit says that it has seen enough. It reports whether the server did its part.
func (p *probe) walk(ctx context.Context, l *link, visit func(uri, name string) (enough bool)) bool {
	params := map[string]any{}
	for range mostPages {
		answer := l.ask(ctx, "resources/list", params, Plain)
		var page struct {
			Resources  []struct{ URI, Name string }
			NextCursor string
		}
		if answer == nil || answer.Error != nil || json.Unmarshal(answer.Result, &page) != nil {
			return false
		}
		for _, r := range page.Resources {
			if visit(r.URI, r.Name) {
				return true
			}
		}
		if page.NextCursor == "" {
			return true
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
	return false
}

// find returns the URI of what is listed under a name that nothing else has, "" if it is not listed.
func (p *probe) find(ctx context.Context, l *link, name string) (found string) {
	p.walk(ctx, l, func(uri, listed string) bool {
		if strings.Contains(uri, name) || strings.Contains(listed, name) {
			found = uri
		}
		return found != ""
	})
	return found
}

// reads reports whether a resource reads as text.
func (p *probe) reads(ctx context.Context, l *link, uri, text string) bool {
	answer := l.ask(ctx, "resources/read", map[string]any{"uri": uri}, Plain)
	var contents []struct{ Text, Blob string }
	if json.Unmarshal(contentsOf(answer), &contents) != nil {
		return false
	}
	for _, c := range contents {
		blob, _ := base64.StdEncoding.DecodeString(c.Blob)
		if c.Text == text || string(blob) == text {
			return true
		}
	}
	return false
}

// contentsOf are the contents in the answer to resources/read, nil without one.
func contentsOf(answer *wire.Message) json.RawMessage {
	var result struct{ Contents json.RawMessage }
	if answer == nil || json.Unmarshal(answer.Result, &result) != nil {
		return nil
	}
	return result.Contents
}

// someURIs is how many resources of the server a listen asks for that asks for all.
const someURIs = 10

// look chooses what listens ask for.
func (p *probe) look(ctx context.Context, l *link) {
	if p.first != nil {
		p.uris = append(p.uris, p.first.uri, p.second.uri)
	}
	if !p.rec.Serves.HasResources {
		return
	}
	p.walk(ctx, l, func(uri, _ string) bool {
		if !slices.Contains(p.uris, uri) {
			p.uris = append(p.uris, uri)
		}
		return len(p.uris) >= someURIs
	})
}

// change has something change and waits until every listen was told, or should have been; without a way to change
// anything it waits for what the server says by itself, unless it never says anything.
func (p *probe) change(ctx context.Context, l *link) {
	if p.first == nil {
		if !p.quiet {
			p.overhear(ctx, l)
		}
		return
	}
	text := p.newText()
	p.window(ctx, l, Subject{Method: updated, URI: p.first.uri},
		func() error { return p.world.Put(p.first.name, text) },
		func() bool { return p.reads(ctx, l, p.first.uri, text) })
	name := p.newName()
	p.window(ctx, l, Subject{Method: resourcesChanged},
		func() error { return p.world.Put(name, text) },
		func() bool { return p.find(ctx, l, name) != "" })
}

func (p *probe) window(ctx context.Context, l *link, what Subject, do func() error, shows func() bool) {
	if p.isDead(what.Method) {
		return
	}
	c := &Change{What: what}
	p.add(Entry{Conn: l.number, Kind: Changing, Change: c})
	if do() != nil || !p.poll(ctx, l, shows) {
		return // the server does not show it, or the disk is full: nothing follows
	}
	p.add(Entry{Conn: l.number, Kind: Shown, Change: c})
	p.until(ctx, p.rec.Patience, func(v *view) bool { return v.allTold(c) })
	pause(ctx, settle/2) // for what should not come at all
	p.settled(ctx, l, c)
}

// settled ends windows.
func (p *probe) settled(ctx context.Context, l *link, all ...*Change) {
	if ctx.Err() != nil {
		return
	}
	for _, c := range all {
		p.add(Entry{Conn: l.number, Kind: Settled, Change: c})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.view.windows {
		if w.to < 0 || w.change.Own || !slices.Contains(all, w.change) {
			continue
		}
		for _, t := range p.view.outcomes(w, w.to) {
			heard, known := p.heard[t.subject.Method]
			p.heard[t.subject.Method] = heard || len(t.heard) > 0 || !known && len(t.missed) == 0
		}
	}
}

// isDead reports whether nobody was ever told of the like though it had happened: that need not be waited for again.
func (p *probe) isDead(method string) bool {
	heard, known := p.heard[method]
	return known && !heard
}

// allTold reports whether some of these changes have to be told, and nobody waits for any of them any more.
func (v *view) allTold(all ...*Change) bool {
	due := false
	for _, w := range v.windows {
		if !slices.Contains(all, w.change) {
			continue
		}
		for _, t := range v.outcomes(w, len(v.rec.Entries)-1) {
			if due = true; len(t.waiting) > 0 {
				return false
			}
		}
	}
	return due
}
