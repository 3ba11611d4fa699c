package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// everything is a filter that asks for all that there is.
func (p *probe) everything() filter {
	return filter{Tools: true, Prompts: true, Resources: true, URIs: p.uris}
}

// newStringID gives out an id that is a string.
func (p *probe) newStringID() json.RawMessage {
	p.lastID++
	return fmt.Appendf(nil, `"listen-%d"`, p.lastID)
}

// listenTwice opens two listens that ask for the same.
func (p *probe) listenTwice(ctx context.Context, l *link) {
	a := l.listen(ctx, p.newID(), p.everything(), Plain)
	if !l.acknowledgements(ctx, a) {
		return
	}
	b := l.listen(ctx, p.newStringID(), p.everything(), Plain)
	if l.acknowledgements(ctx, b) {
		p.change(ctx, l)
	}
}

// listenToAll opens listens with ids of every kind, and one for each thing that can be asked for. What they ask for changes
// while they are opened, so that there is something that can come too early.
func (p *probe) listenToAll(ctx context.Context, l *link) {
	var all []json.RawMessage
	open := func(id json.RawMessage, f filter, part Part) {
		if p.first != nil {
			_ = p.world.Put(p.first.name, p.newText()) // whoever is told of it, nobody waits for that
		}
		all = append(all, l.listen(ctx, id, f, part))
	}
	for _, id := range []string{idZero, idNumber, idString, idLarge} {
		open(json.RawMessage(id), p.everything(), Identity)
	}
	open(p.newID(), filter{Tools: true}, Plain)
	open(p.newStringID(), filter{Prompts: true}, Plain)
	open(p.newID(), filter{Resources: true}, Plain)
	open(p.newStringID(), filter{}, Plain)
	for _, uri := range p.uris[:min(2, len(p.uris))] {
		open(p.newStringID(), filter{URIs: []string{uri}}, Plain)
	}
	l.acknowledgements(ctx, all...)
	if l.ask(ctx, "server/discover", nil, Plain) == nil || l.unfit() {
		return
	}
	p.change(ctx, l)
	if l.cancel(ctx, json.RawMessage(idNumber)); l.heard(ctx) { // and not "1"
		p.change(ctx, l)
	}
}

// cancelSome cancels two of three listens, one that has only just been asked for, and one that is not there. The one that
// stays was opened last, and has been told of something before.
func (p *probe) cancelSome(ctx context.Context, l *link) {
	goes, too := l.listen(ctx, p.newStringID(), p.everything(), Plain), l.listen(ctx, p.newID(), p.everything(), Plain)
	if !l.acknowledgements(ctx, goes, too) || !l.acknowledgements(ctx, l.listen(ctx, p.newID(), p.everything(), Plain)) {
		return
	}
	if p.change(ctx, l); l.unfit() {
		return
	}
	l.cancel(ctx, goes, too)
	l.cancel(ctx, l.listen(ctx, p.newStringID(), p.everything(), Plain))
	if !p.rec.HTTP {
		l.cancel(ctx, p.newID())
	}
	if l.heard(ctx) {
		p.change(ctx, l)
	}
}

// askBadly sends listens that the schema does not allow.
func (p *probe) askBadly(ctx context.Context, l *link) {
	var all []json.RawMessage
	for _, params := range []map[string]any{
		{},
		{"notifications": true},
		{"notifications": []string{"resourcesListChanged"}},
		{"notifications": map[string]any{"resourcesListChanged": "yes"}},
		{"notifications": map[string]any{"resourceSubscriptions": "file:///one.txt"}},
	} {
		id := p.newID()
		l.send(ctx, id, listenMethod, params, Malformed)
		all = append(all, id)
	}
	l.acknowledgements(ctx, all...)
	for _, id := range all {
		if p.isOpen(l, id) {
			l.cancel(ctx, id)
		}
	}
}

func (p *probe) isOpen(l *link, id json.RawMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view.isOpen(p.view.byKey[keyOf(l.number, id)].listening, len(p.rec.Entries))
}

// listenInCrowds opens as many listens as a server must put up with. Before, it takes the time of requests.
func (p *probe) listenInCrowds(ctx context.Context, l *link) {
	p.time(ctx, l, Early)
	all := l.open(ctx, fifty, p.everything(), Crowd)
	if !l.acknowledgements(ctx, all...) {
		return
	}
	if l.ask(ctx, "server/discover", nil, Plain) != nil {
		p.change(ctx, l)
	}
	l.cancel(ctx, all...)
}

// open asks for n listens at once.
func (l *link) open(ctx context.Context, n int, f filter, part Part) (all []json.RawMessage) {
	for i := range n {
		id := l.probe.newID()
		if i%2 == 1 {
			id = l.probe.newStringID()
		}
		all = append(all, l.listen(ctx, id, f, part))
	}
	return all
}

// time asks a few times for something that costs a server nothing.
func (p *probe) time(ctx context.Context, l *link, part Part) {
	for range 5 {
		if l.ask(ctx, "server/discover", nil, part) == nil {
			return
		}
	}
}

// cutMany opens and cuts listens, and takes the time of requests again.
func (p *probe) cutMany(ctx context.Context, l *link) {
	const atOnce = 32
	for range many / atOnce {
		all := l.open(ctx, atOnce, p.everything(), Cut)
		if !l.acknowledgements(ctx, all...) || l.unfit() {
			return
		}
		l.cancel(ctx, all...)
	}
	p.time(ctx, l, Late)
	for begun := time.Now(); !l.unfit(); pause(ctx, crossing) {
		id := l.listen(ctx, p.newID(), p.everything(), Late)
		if l.acknowledgements(ctx, id); p.isOpen(l, id) || time.Since(begun) > p.rec.Patience || ctx.Err() != nil {
			return
		}
	}
}

// end opens a few listens and ends the connection in order.
func (p *probe) end(ctx context.Context, l *link) {
	all := l.open(ctx, 3, p.everything(), Plain)
	l.acknowledgements(ctx, all...)
	l.close(ctx)
}
