package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// listener follows everything a server serves. One listen protects the list; it is acknowledged before the pages are
// walked, so that no change of the list falls between. Every listed URI is then covered by further listens, and is
// told as present only when its own is acknowledged, so that no later update of it is lost.
//
// All fields belong to the goroutine of run. What must wait for the server runs beside it and hands its continuation
// back.
type listener struct {
	client *client
	facts  *facts
	log    *slog.Logger

	perListen int           // URIs in one listen; servers may refuse more than 10,000
	spare     int           // listens above those needed, before they are merged
	grace     time.Duration // how long a merged listen may still hand out what it owes

	listListen int64
	listens    map[int64]int   // open and asked-for listens, and how many URIs each covers
	unanswered int             // of listens: not acknowledged yet
	listed     map[string]bool // the list as last walked
	covered    map[string]bool // URIs of listens
	fresh      []string        // listed, not told yet: told when unanswered is 0
	retired    []int64         // listens that unanswered ones replace
	stale      bool            // the list changed after the last walk began
	busy       bool            // a walk is under way, or listens are being opened
	isLive     bool
	held       []string // updates that came before live was told

	results chan func() error // continuations of work; closed by nobody
	workers sync.WaitGroup    // what work has started; ends when the server's input is closed after run
}

func newListener(c *client, facts *facts, log *slog.Logger) *listener {
	return &listener{
		client: c, facts: facts, log: log, perListen: 10_000, spare: 100, grace: time.Second,
		listens: map[int64]int{}, listed: map[string]bool{}, covered: map[string]bool{},
		results: make(chan func() error),
	}
}

// run tells facts until ctx ends (nil), the server does (errServerEnded) or something is wrong (what that is).
func (l *listener) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.listListen = l.client.reserve()
	l.work(ctx, func() (func() error, error) {
		if err := l.client.discover(ctx); err != nil {
			return nil, err
		}
		return nothing, l.client.listen(l.listListen, listen.Filter{ResourcesListChanged: true})
	})
	for {
		var err error
		select {
		case s, ok := <-l.client.notices:
			if !ok {
				return l.client.why()
			}
			err = l.take(ctx, s)
		case then := <-l.results:
			err = then()
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func nothing() error { return nil }

// work runs do beside run, which then runs the continuation do returns.
func (l *listener) work(ctx context.Context, do func() (then func() error, err error)) {
	l.workers.Go(func() {
		then, err := do()
		if err != nil {
			then = func() error { return err }
		}
		select {
		case l.results <- then:
		case <-ctx.Done():
		}
	})
}

func (l *listener) take(ctx context.Context, s notice) error {
	switch s.kind {
	case noticeAcknowledged:
		return l.acknowledged(ctx, s)
	case noticeListChanged:
		l.stale = true
		l.refresh(ctx)
	case noticeUpdated:
		if !l.isLive {
			l.held = append(l.held, s.uri)
			return nil
		}
		return l.facts.updated(s.uri)
	case noticeEnded:
		if s.err != nil {
			return fmt.Errorf("the server refused to listen: %w", s.err)
		}
		return errServerEnded
	}
	return nil
}

func (l *listener) acknowledged(ctx context.Context, s notice) error {
	if s.listen == l.listListen {
		if !s.filter.ResourcesListChanged {
			return errors.New("the server does not announce changes of its list")
		}
		l.stale = true
		l.refresh(ctx)
		return nil
	}
	if honoured := len(s.filter.ResourceSubscriptions); honoured < l.listens[s.listen] {
		l.log.Warn("the server does not announce changes of some resources", "count", l.listens[s.listen]-honoured)
	}
	if l.unanswered--; l.unanswered > 0 {
		return nil
	}
	return l.settle(ctx)
}

// refresh walks the list again if it is stale, once nothing else is under way.
func (l *listener) refresh(ctx context.Context) {
	if !l.stale || l.busy {
		return
	}
	l.stale, l.busy = false, true
	l.work(ctx, func() (func() error, error) {
		uris, err := l.client.walk(ctx)
		return func() error { return l.walked(ctx, uris) }, err
	})
}

// walked compares the list with what was told of it.
func (l *listener) walked(ctx context.Context, uris []string) error {
	before := l.listed
	l.listed = make(map[string]bool, len(uris))
	var uncovered []string
	for _, uri := range uris {
		l.listed[uri] = true
		if !before[uri] {
			l.fresh = append(l.fresh, uri)
		}
		if !l.covered[uri] {
			uncovered = append(uncovered, uri)
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(before)) {
		if !l.listed[uri] {
			if err := l.facts.removed(uri); err != nil {
				return err
			}
		}
	}
	return l.cover(ctx, uncovered)
}

// cover opens listens for uris; settle follows when all are acknowledged.
func (l *listener) cover(ctx context.Context, uris []string) error {
	if len(uris) == 0 {
		return l.settle(ctx)
	}
	chunks := map[int64][]string{}
	for chunk := range slices.Chunk(uris, l.perListen) {
		id := l.client.reserve()
		chunks[id] = chunk
		l.listens[id] = len(chunk)
		l.unanswered++
	}
	for _, uri := range uris {
		l.covered[uri] = true
	}
	l.work(ctx, func() (func() error, error) {
		for _, id := range slices.Sorted(maps.Keys(chunks)) {
			if err := l.client.listen(id, listen.Filter{ResourceSubscriptions: chunks[id]}); err != nil {
				return nil, err
			}
		}
		return nothing, nil
	})
	return nil
}

// settle tells what is now covered, and goes on with what has become due meanwhile.
func (l *listener) settle(ctx context.Context) error {
	if err := l.tell(); err != nil {
		return err
	}
	l.busy = false
	if len(l.retired) > 0 {
		l.retire(ctx)
	}
	if needed := 1 + len(l.listed)/l.perListen; len(l.listens) > needed+l.spare {
		return l.merge(ctx)
	}
	l.refresh(ctx)
	return nil
}

func (l *listener) tell() error {
	if !l.isLive {
		l.isLive, l.fresh = true, nil
		if err := l.facts.live(len(l.listed)); err != nil {
			return err
		}
		for _, uri := range l.held {
			if err := l.facts.updated(uri); err != nil {
				return err
			}
		}
		l.held = nil
		return nil
	}
	for _, uri := range l.fresh {
		if err := l.facts.added(uri); err != nil {
			return err
		}
	}
	l.fresh = nil
	return nil
}

// merge replaces many small listens, which coming and going files leave behind, by as few as the list needs.
func (l *listener) merge(ctx context.Context) error {
	l.busy = true
	l.retired = slices.Collect(maps.Keys(l.listens))
	clear(l.listens)
	clear(l.covered)
	return l.cover(ctx, slices.Sorted(maps.Keys(l.listed)))
}

// retire cancels what merge has replaced, after a time in which it can hand out what it still owes: a cancelled
// listen is silent at once. A change that falls in that time may be told twice.
func (l *listener) retire(ctx context.Context) {
	retired := l.retired
	l.retired = nil
	l.work(ctx, func() (func() error, error) {
		select {
		case <-time.After(l.grace):
		case <-ctx.Done():
			return nothing, nil
		}
		for _, id := range retired {
			if err := l.client.cancel(id); err != nil {
				return nil, err
			}
		}
		return nothing, nil
	})
}
