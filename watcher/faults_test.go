package watcher

import (
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// faulty passes another source's events on in a different order, some twice, and some not at all, which it reports.
type faulty struct {
	source
	rng    *rand.Rand
	drop   int // one event of so many is dropped, 0 for none; the loss is reported later
	events chan fsnotify.Event
	errs   chan error
	done   chan struct{}
	ended  chan struct{}

	mu   sync.Mutex // guards name
	name string     // of the cookie
}

func newFaulty(src source, seed uint64, drop int) *faulty {
	f := &faulty{
		source: src,
		rng:    rand.New(rand.NewPCG(seed, 1)),
		drop:   drop,
		events: make(chan fsnotify.Event),
		errs:   make(chan error),
		done:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	go f.run()
	return f
}

func (f *faulty) Cookie(anew bool) (string, error) {
	name, err := f.source.Cookie(anew)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name = name
	return name, err
}

func (f *faulty) cookie() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.name
}

func (f *faulty) Events() <-chan fsnotify.Event { return f.events }
func (f *faulty) Errors() <-chan error          { return f.errs }

func (f *faulty) Close() error {
	close(f.done)
	err := f.source.Close()
	<-f.ended
	return err
}

func (f *faulty) run() {
	defer close(f.ended)
	defer close(f.errs)
	defer close(f.events)
	events, errs := f.source.Events(), f.source.Errors()
	var kept []fsnotify.Event
	lost := false
	for events != nil || errs != nil {
		if len(kept) > 0 || lost {
			runtime.Gosched()
			select {
			case e, ok := <-events:
				kept, lost, events = f.keep(kept, lost, e, ok, events)
				if len(kept) < 8 {
					continue
				}
			default:
			}
			f.flush(kept, lost)
			kept, lost = nil, false
			continue
		}
		select {
		case e, ok := <-events:
			kept, lost, events = f.keep(kept, lost, e, ok, events)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				break
			}
			f.fail(err)
		}
	}
}

func (f *faulty) keep(kept []fsnotify.Event, lost bool, e fsnotify.Event, ok bool, from <-chan fsnotify.Event) (
	[]fsnotify.Event, bool, <-chan fsnotify.Event) {
	if !ok {
		return kept, lost, nil
	}
	if f.drop > 0 && f.rng.IntN(f.drop) == 0 {
		return kept, true, from
	}
	if e.Name == f.cookie() { // it overtakes nothing
		f.flush(kept, lost)
		f.flush([]fsnotify.Event{e}, false)
		return nil, false, from
	}
	kept = append(kept, e)
	if f.rng.IntN(4) == 0 {
		kept = append(kept, e)
	}
	return kept, lost, from
}

func (f *faulty) flush(kept []fsnotify.Event, lost bool) {
	f.rng.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	for _, e := range kept {
		select {
		case f.events <- e:
		case <-f.done:
		}
	}
	if lost {
		f.fail(fsnotify.ErrEventOverflow)
	}
}

func (f *faulty) fail(err error) {
	select {
	case f.errs <- err:
	case <-f.done:
	}
}
