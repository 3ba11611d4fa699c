package listen_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

var modelSeed = flag.Uint64("seed", 0, "run the tests that draw lots with this seed only")

// TestModel runs random operations against a hub and against a model that knows every promise of the package and
// finds everything by going through all of it.
func TestModel(t *testing.T) {
	for _, seed := range seeds(60) {
		synctest.Test(t, func(t *testing.T) { runModel(t, seed) })
		if t.Failed() {
			t.Fatalf("again with -seed %d", seed)
		}
	}
}

// seeds are so many random ones, or the one asked for.
func seeds(n int) (all []uint64) {
	if *modelSeed != 0 {
		return []uint64{*modelSeed}
	}
	for range n {
		all = append(all, rand.Uint64())
	}
	return all
}

const (
	modelUpdateInterval = 50 * time.Millisecond
	modelListInterval   = 500 * time.Millisecond
)

var modelKeys = []string{"a", "a/b", "a/b/c", "a/bc", "b", "b/a", "c", "c/d"}

// modelStream is what a stream must do next.
type modelStream struct {
	t    testing.TB
	s    *listen.Stream
	tag  string
	keys map[string]map[string]bool // URI or method -> keys that trigger it
	owed map[string]bool
	last map[string]time.Time // when it was last said
	// beneath is what changed beneath a URI since it was last said.
	beneath map[string]map[string]bool
	unnamed map[string]bool // what its handler has told of, so that nothing is named
	h       *modelHandler   // nil without a handler

	ack, legacy, completing, result, over bool

	wakes int       // calls of Wake
	woken int       // how many there should have been
	until time.Time // when the carrier asks by itself; zero while it is awake
}

func (m *modelStream) Wake(*listen.Stream) { m.wakes++ }

var eternity = time.Unix(1<<40, 0)

func (m *modelStream) due(what string) time.Time {
	last, ok := m.last[what]
	switch {
	case !ok:
		return time.Time{}
	case strings.HasPrefix(what, "notifications/"):
		return last.Add(modelListInterval)
	default:
		return last.Add(modelUpdateInterval)
	}
}

func (m *modelStream) publish(changed string) {
	if m.completing || m.over {
		return
	}
	for what, keys := range m.keys {
		for key := range keys {
			if beneath(key, changed) {
				if m.beneath[what] == nil {
					m.beneath[what] = map[string]bool{}
				}
				m.beneath[what][changed] = true
			} else if key != changed {
				continue
			}
			if !m.owed[what] {
				m.owed[what] = true
				m.wakeIf(m.due(what).Before(m.until))
			}
		}
	}
}

// beneath reports whether changed is the container key, or beneath it.
func beneath(key, changed string) bool { return strings.HasPrefix(changed, key+"/") }

// checkNamed checks what the message for a URI names.
func (m *modelStream) checkNamed(msg message, said string) {
	named, err := msg.named()
	want := slices.Sorted(maps.Keys(m.beneath[said]))
	if len(want) > 64 || m.unnamed[said] {
		want = nil
	}
	if err != nil || !slices.Equal(named, want) || (named == nil) != (want == nil) {
		m.t.Errorf("stream %s: %s names %q, %v, want %q", m.tag, said, named, err, want)
	}
	delete(m.beneath, said)
	delete(m.unnamed, said)
}

func (m *modelStream) wakeIf(earlier bool) {
	if !m.until.IsZero() && earlier {
		m.until = time.Time{}
		m.woken++
	}
}

func (m *modelStream) pull(now time.Time) {
	post := m.postFirst(now)
	frame, wait := m.s.Next(nil, now)
	m.until = time.Time{}
	if m.over {
		if frame != nil || wait != listen.Over {
			m.t.Errorf("stream %s is over and says %s, %v", m.tag, frame, wait)
		}
		return
	}
	if frame == nil {
		m.idle(now, wait)
		return
	}
	msg := decode(m.t, frame)
	said := msg.said()
	if tag := string(msg.Params.Meta[subscriptionID]); msg.Method != "" && tag != m.tag || msg.Method == "" && string(msg.ID) != m.tag {
		m.t.Errorf("%s is tagged %s, want %s", frame, tag, m.tag)
	}
	switch isPost := m.checkPost(said, post); {
	case isPost:
	case m.ack:
		if said != "ack" {
			m.t.Errorf("stream %s begins with %s", m.tag, frame)
		}
		m.ack = false
	case said == "result" || said == "error":
		if failed := m.h != nil && m.h.failed; failed != (said == "error") {
			m.t.Errorf("stream %s: its handler has failed: %v, and it says %s", m.tag, failed, frame)
		}
		if !m.completing || len(m.owed) > 0 || m.result || m.legacy {
			m.t.Errorf("stream %s has the result %s, owed is %v", m.tag, frame, m.owed)
		}
		m.result = true
	case !m.owed[said]:
		m.t.Errorf("stream %s says %s, owed is %v", m.tag, frame, m.owed)
	case m.due(said).After(now) && !m.completing:
		m.t.Errorf("stream %s says %s %v early", m.tag, frame, m.due(said).Sub(now))
	default:
		m.checkNamed(msg, said)
		delete(m.owed, said)
		m.last[said] = now
	}
}

// idle checks that there is nothing to say now.
func (m *modelStream) idle(now time.Time, wait time.Duration) {
	if m.posts() > 0 {
		m.t.Errorf("stream %s says nothing and has %d posts", m.tag, m.posts())
	}
	if m.ack || m.completing && (len(m.owed) > 0 || !m.legacy && !m.result) {
		m.t.Errorf("stream %s says nothing, %v, and owes %v", m.tag, wait, m.owed)
	}
	if m.completing {
		m.over = true
		if wait != listen.Over {
			m.t.Errorf("stream %s has completed, wait is %v", m.tag, wait)
		}
		return
	}
	m.until = eternity
	for what := range m.owed {
		if due := m.due(what); due.Before(m.until) {
			m.until = due
		}
	}
	want := m.until.Sub(now)
	if m.until.Equal(eternity) {
		want = 0
	} else if want <= 0 {
		m.t.Errorf("stream %s says nothing and owes %v", m.tag, m.owed)
	}
	if wait != want {
		m.t.Errorf("stream %s: wait is %v, want %v", m.tag, wait, want)
	}
}

func (m *modelStream) add(sub listen.Sub) {
	if m.over {
		return
	}
	if m.keys[sub.URI] == nil {
		m.keys[sub.URI] = map[string]bool{}
	}
	m.keys[sub.URI][sub.Key] = true
}

func (m *modelStream) remove(uri string) {
	delete(m.keys, uri)
	delete(m.owed, uri)
	delete(m.last, uri)
	delete(m.beneath, uri)
}

func runModel(t *testing.T, seed uint64) (all []*modelStream) {
	r := rand.New(rand.NewPCG(seed, 0))
	h := listen.NewHub(&listen.Options{UpdateInterval: modelUpdateInterval, ListInterval: modelListInterval, ChangedMeta: changedMeta})
	now := time.Now()
	key := func() string { return modelKeys[r.IntN(len(modelKeys))] }
	sub := func() listen.Sub {
		k := key()
		return listen.Sub{Key: k, URI: k[:1+r.IntN(len(k))]} // some URIs have several keys, some keys several URIs
	}
	for step := 0; step < 400 && !t.Failed(); step++ {
		var m *modelStream
		if len(all) > 0 {
			m = all[r.IntN(len(all))]
		}
		switch op := r.IntN(100); {
		case m == nil || op < 8:
			all = append(all, openModel(t, h, r, len(all), sub))
		case op < 40:
			m.pull(now)
		case op < 55 && m.h != nil:
			for range 1 + r.IntN(8) {
				m.handlerDoes(r)
			}
		case op < 75:
			publishModel(h, r, all, key)
		case op < 85:
			now = now.Add(time.Duration(r.IntN(30)) * time.Millisecond)
		case op < 90 && m.legacy:
			a := sub()
			m.s.Add(a)
			m.add(a)
		case op < 93 && m.legacy:
			uri := sub().URI
			m.s.Remove(uri)
			m.remove(uri)
		case op < 95:
			m.s.Cancel()
			m.over, m.until = true, time.Time{}
			m.close(listen.ErrCancelled)
		case op < 97:
			m.s.Complete()
			if !m.completing && !m.over {
				m.close(listen.ErrShutdown)
				m.ack = m.ack || m.h != nil && m.h.sender == nil
				m.completing = true
				m.wakeIf(true)
			}
		default:
			now = now.Add(time.Second)
		}
		for _, m := range all {
			if m.wakes != m.woken {
				t.Errorf("step %d: stream %s was woken %d times, want %d", step, m.tag, m.wakes, m.woken)
			}
		}
	}
	settle(t, h, all, now.Add(time.Minute))
	return all
}

// settle pulls everything that is owed and checks that nothing is left.
func settle(t *testing.T, h *listen.Hub, all []*modelStream, now time.Time) {
	open := 0
	for _, m := range all {
		for range 1 + len(m.owed) + m.posts() + 3 {
			m.pull(now)
		}
		if !m.over {
			open++
			if len(m.owed) > 0 {
				t.Errorf("stream %s still owes %v", m.tag, m.owed)
			}
		}
	}
	if h.Len() != open {
		t.Errorf("%d streams are open, want %d", h.Len(), open)
	}
	for _, m := range all {
		m.s.Cancel()
		m.over = true
		m.close(listen.ErrCancelled)
		if m.h != nil {
			m.returnFrom(false)
		}
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func openModel(t *testing.T, h *listen.Hub, r *rand.Rand, n int, sub func() listen.Sub) *modelStream {
	m := &modelStream{
		t: t, keys: map[string]map[string]bool{}, owed: map[string]bool{}, last: map[string]time.Time{},
		beneath: map[string]map[string]bool{}, unnamed: map[string]bool{},
	}
	var id []byte
	if m.legacy = r.IntN(3) == 0; !m.legacy {
		id = fmt.Append(nil, n)
		if r.IntN(2) == 0 {
			id = fmt.Appendf(nil, "%q", id)
		}
		m.tag = string(id)
		if r.IntN(2) == 0 {
			m.s = openHandled(t, h, r, m, id)
			return m
		}
	}
	var f listen.Filter
	lists := []*bool{&f.ResourcesListChanged, &f.ToolsListChanged, &f.PromptsListChanged}
	for i, method := range []string{methodList, methodTools, methodPrompts} {
		if *lists[i] = r.IntN(3) == 0; *lists[i] {
			m.keys[method] = map[string]bool{method: true}
		}
	}
	var subs []listen.Sub
	for range r.IntN(20) * r.IntN(2) {
		s := sub()
		subs = append(subs, s)
		f.ResourceSubscriptions = append(f.ResourceSubscriptions, s.URI)
		m.add(s)
	}
	if m.legacy {
		m.until = eternity
	} else {
		m.ack, m.woken = true, 1
		m.completing = len(m.keys) == 0
	}
	s, err := h.Open(id, f, subs, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.s = s
	return m
}

func publishModel(h *listen.Hub, r *rand.Rand, all []*modelStream, key func() string) {
	c := listen.Change{List: r.IntN(4) == 0, Tools: r.IntN(8) == 0, Prompts: r.IntN(8) == 0}
	for range r.IntN(4) {
		c.Keys = append(c.Keys, key()+[]string{"", "", "/"}[r.IntN(3)])
	}
	if r.IntN(8) == 0 { // as many as one message names, or some more
		for range 1 + r.IntN(80) {
			c.Keys = append(c.Keys, fmt.Sprintf("%s/%d", key(), r.IntN(100)))
		}
	}
	h.Publish(c)
	changed := c.Keys
	for method, on := range map[string]bool{methodList: c.List, methodTools: c.Tools, methodPrompts: c.Prompts} {
		if on {
			changed = append(changed, method)
		}
	}
	for _, m := range all {
		// A stream makes at most one transition in a batch, whatever the order of the keys.
		for _, what := range changed {
			m.publish(what)
		}
	}
}
