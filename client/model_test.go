package client

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

var (
	modelSeed  = flag.Uint64("model.seed", 1, "the first seed of the model test")
	modelCount = flag.Int("model.count", 12, "how many seeds of the model test, from the first on")
)

// host is a consumer that knows what it was told and nothing else: it lists when it is told of Live, and reads what it is told of.
type host struct {
	c    *Client
	read bool // takes contents from the events
	// wanders, if it is not nil, says how often it lists and reads for no reason: each time out of so many.
	wanders func() int

	mu    sync.Mutex // guards what follows
	calm  bool       // it wanders no more
	slow  func() time.Duration
	want  Want
	list  map[string]bool
	holds map[string]string
	live  bool // for the first time
	sets  int  // how often the want was set
	due   bool // Live is to come
	fresh bool // the list is to be taken from the view
	fault string
	story []string // what it was told, and when
}

func (h *host) run(ctx context.Context) {
	for {
		next, stop := ctx, context.CancelFunc(func() {})
		if h.wanders != nil {
			next, stop = context.WithTimeout(ctx, 200*time.Millisecond)
		}
		e, err := h.c.Next(next)
		stop()
		if ctx.Err() != nil || err != nil && h.wanders == nil {
			return
		}
		if err == nil {
			h.take(ctx, e)
		}
		if h.wanders != nil {
			h.wander(ctx)
		}
		h.mu.Lock()
		slow := h.slow
		h.mu.Unlock()
		rest(ctx, slow())
	}
}

func (h *host) take(ctx context.Context, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteLocked(fmt.Sprint(inWords(e), " ", e.Err))
	if !h.live && e.Kind != Live && e.Kind != Lost {
		h.fault = "told before live: " + inWords(e)
	}
	switch e.Kind {
	case Live:
		if e.Sets != h.sets {
			return // it was told before want was set, and another comes
		}
		if h.fresh {
			h.list = map[string]bool{}
		}
		if h.want.List {
			for _, r := range h.c.Resources() {
				h.list[r.URI] = true
			}
		}
		h.live, h.due, h.fresh = true, false, false
		for _, uri := range h.followedLocked() {
			if _, ok := h.holds[uri]; !ok && e.Sets == h.sets { // while it looks, want may be set
				h.lookLocked(ctx, uri)
			}
		}
	case Added:
		h.list[e.URI] = true
		if h.want.Listed {
			h.takeContentsLocked(ctx, e)
		}
	case Removed:
		delete(h.list, e.URI)
		if !slices.Contains(h.want.URIs, e.URI) {
			delete(h.holds, e.URI)
		}
	case Updated:
		h.takeContentsLocked(ctx, e)
	}
}

// wander lists or reads for no reason, and takes the answer for true.
func (h *host) wander(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calm || !h.live || h.due || h.wanders() > 0 {
		return
	}
	if h.want.List && h.wanders() == 0 {
		h.listLocked(ctx)
		return
	}
	shown := h.shownLocked()
	for _, uri := range h.followedLocked() {
		if (slices.Contains(h.want.URIs, uri) || shown[uri]) && h.wanders() == 0 {
			h.readLocked(ctx, uri)
			return
		}
	}
}

func (h *host) shownLocked() map[string]bool {
	shown := map[string]bool{}
	for _, r := range h.c.Resources() {
		shown[r.URI] = true
	}
	return shown
}

// listLocked has what is listed in place of what was told. What is new to it is read, if it is in the view; else it comes as added.
func (h *host) listLocked(ctx context.Context) {
	sets := h.sets
	h.mu.Unlock()
	found, err := h.c.List(ctx)
	h.mu.Lock()
	if err != nil || sets != h.sets || h.due || h.fresh {
		return
	}
	before := h.list
	h.list = map[string]bool{}
	for _, r := range found {
		h.list[r.URI] = true
	}
	h.noteLocked("listed " + fmt.Sprint(slices.Sorted(maps.Keys(h.list))))
	for uri := range before {
		if !h.list[uri] && !slices.Contains(h.want.URIs, uri) {
			delete(h.holds, uri)
		}
	}
	if !h.want.Listed {
		return
	}
	shown := h.shownLocked()
	for uri := range h.list {
		if !before[uri] && shown[uri] && !h.due {
			h.lookLocked(ctx, uri)
		}
	}
}

func (h *host) readLocked(ctx context.Context, uri string) {
	sets := h.sets
	h.mu.Unlock()
	contents, err := h.c.Read(ctx, uri)
	h.mu.Lock()
	var fault *Error
	if sets == h.sets && !h.due && (err == nil || errors.As(err, &fault)) {
		h.holds[uri] = textOf(contents, err)
		h.noteLocked("read " + uri + " " + h.holds[uri])
	}
}

func (h *host) noteLocked(what string) {
	h.story = append(h.story, time.Now().Format("15:04:05.000 ")+what)
}

func (h *host) followedLocked() []string {
	all := map[string]bool{}
	for _, uri := range h.want.URIs {
		all[uri] = true
	}
	if h.want.Listed {
		for uri := range h.list {
			all[uri] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (h *host) takeContentsLocked(ctx context.Context, e Event) {
	if h.want.Read && h.read {
		h.holds[e.URI] = textOf(e.Contents, e.Err)
		if e.Contents == nil && e.Err == nil {
			delete(h.holds, e.URI) // it was told when contents were not kept: another Live comes
		}
		return
	}
	if h.due {
		delete(h.holds, e.URI) // it may be what was followed before: another Live comes, and it is read then
		return
	}
	h.lookLocked(ctx, e.URI)
}

// lookLocked reads; what is told meanwhile waits, as with a consumer that does one thing after the other.
func (h *host) lookLocked(ctx context.Context, uri string) {
	if h.want.Read && h.read {
		contents, err := h.c.Contents(uri)
		h.holds[uri] = textOf(contents, err)
		return
	}
	sets := h.sets
	h.mu.Unlock()
	contents, err := h.c.Read(ctx, uri)
	h.mu.Lock()
	if sets == h.sets {
		h.holds[uri] = textOf(contents, err)
	} else {
		delete(h.holds, uri) // Live comes
	}
}

// set changes what is wanted. What was not followed before is not known, whatever was known of it earlier.
func (h *host) set(w Want) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uri := range h.holds {
		if !slices.Contains(w.URIs, uri) || !slices.Contains(h.want.URIs, uri) {
			delete(h.holds, uri)
		}
	}
	if w.List != h.want.List {
		h.list, h.fresh = map[string]bool{}, true
	}
	h.want, h.due = w, true
	h.sets++
	return h.c.Set(w)
}

func textOf(contents []Content, err error) string {
	var fault *Error
	switch {
	case errors.As(err, &fault) && fault.Code == jsonrpc.InvalidParams:
		return "" // nothing there
	case err != nil:
		return err.Error()
	case len(contents) != 1:
		return fmt.Sprint(contents)
	}
	return string(contents[0].Data)
}

// TestAConsumerKnowsWhatTheServerHolds does random things to a server, its connections and the filter, and holds what a
// consumer knows in the end against what is there.
func TestAConsumerKnowsWhatTheServerHolds(t *testing.T) {
	for i := range *modelCount {
		seed := *modelSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playModel(t, rand.New(rand.NewPCG(seed, 1))) })
			if t.Failed() {
				t.Logf("play it again: go test ./client -run TestAConsumerKnows -model.count 1 -model.seed %d", seed)
			}
		})
	}
}

var names = []string{"test://a", "test://b", "test://c", "test://d", "test://e", "test://f", "test://g", "test://h"}

func playModel(t *testing.T, rnd *rand.Rand) {
	var mu sync.Mutex // guards rnd
	number := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rnd.IntN(n)
	}
	names, texts := names, math.MaxInt
	wanders := number(2) == 0
	if wanders {
		names, texts = names[:3], 2 // so that what has gone comes back as it was
	}
	some := func(n int) []string {
		var uris []string
		for _, uri := range names {
			if number(n) == 0 {
				uris = append(uris, uri)
			}
		}
		return uris
	}
	wish := func() Want {
		w := Want{List: number(2) == 0, Listed: number(2) == 0, Read: number(2) == 0, URIs: some(3)}
		w.List = w.List || w.Listed
		return w
	}
	f := newFake(t)
	f.overHTTP = number(2) == 0
	f.page = 1 + number(5)
	if number(4) == 0 {
		f.legacy = "2025-11-25"
	}
	f.unordered = wanders && number(2) == 0
	if wanders && number(2) == 0 {
		f.ttl = 60_000
	}
	most := 1 + number(200)
	f.lag = func() time.Duration { return time.Duration(number(most)) * time.Millisecond }
	deaf := map[string]bool{}
	if number(4) == 0 || wanders && number(2) == 0 {
		for _, uri := range some(3) {
			deaf[uri] = true
		}
		noList := number(2) == 0
		f.honour = func(asked filter) filter {
			asked.Resources = asked.Resources && !noList
			asked.URIs = slices.DeleteFunc(slices.Clone(asked.URIs), func(uri string) bool { return deaf[uri] })
			return asked
		}
	}
	for _, uri := range some(2) {
		f.files[uri] = "first"
	}
	h := &host{read: number(2) == 0, want: wish(), fresh: true, list: map[string]bool{}, holds: map[string]string{}}
	if wanders {
		h.wanders = func() int { return number(3) }
	}
	h.slow = func() time.Duration { return time.Duration(number(1+most*4)) * time.Millisecond }
	target := Command("fake")
	if f.overHTTP {
		target = URL("http://fake.example/mcp")
	}
	h.c = New(target, h.want, &Options{Spare: 1 + number(3), MaxURIs: 1 + number(9), Log: slog.New(slog.DiscardHandler), Backoff: Backoff{Reset: time.Duration(number(10)) * time.Second}})
	h.c.dial = f.dial
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() {
		if err := h.c.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	workers.Go(func() { h.run(ctx) })

	version := 0
	operate := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		var c *fakeConn
		if len(f.conns) > 0 {
			c = f.last()
		}
		switch what := number(40); {
		case what < 28:
			version++
			text := fmt.Sprint("version ", version%texts)
			if number(4) == 0 {
				text = ""
			}
			f.writeLocked(names[number(len(names))], text)
		case what < 30 && c != nil:
			c.cutLocked(errors.New("cut"))
		case what < 31 && c != nil:
			c.stallLocked(true)
		case what < 32 && c != nil:
			c.stallLocked(false)
		case what < 33:
			n := len(f.dials) + number(4)
			f.dialErr = func(i int) error {
				if i <= n {
					return errors.New("crashed at the start")
				}
				return nil
			}
		case what < 34 && c != nil && !c.ended:
			for id := range c.listens {
				delete(c.listens, id)
				c.answerLocked([]byte(id), map[string]any{"resultType": "complete"})
				break
			}
		case what < 35:
			f.page = 1 + number(5)
		case what < 36 && c != nil:
			c.emitLocked(wire.Event{Err: &wire.FrameError{Raw: []byte("hello"), Reason: "not valid JSON"}})
		case what < 37:
			n := 0
			f.refuse = func(_ *fakeConn, r request) *jsonrpc.Error {
				if r.Method != "resources/list" || r.Params.Cursor == "" || n >= 3 {
					return nil
				}
				n++
				return jsonrpc.Errorf(jsonrpc.InvalidParams, "stale cursor")
			}
		case what < 39:
			if err := h.set(wish()); err != nil {
				t.Error(err)
			}
		}
	}
	for range 20 + number(100) {
		operate()
		time.Sleep(time.Duration(number(600)) * time.Millisecond)
		if number(30) == 0 {
			time.Sleep(time.Duration(number(100)) * time.Second)
		}
	}
	f.do(func() {
		f.dialErr, f.refuse = nil, nil
		if len(f.conns) > 0 && f.last().stalled {
			f.last().stallLocked(number(2) == 0)
		}
	})
	h.mu.Lock()
	h.calm = number(2) == 0
	h.mu.Unlock()
	time.Sleep(5 * time.Minute)
	h.mu.Lock()
	h.calm = true
	h.mu.Unlock()
	time.Sleep(3 * time.Minute)
	if !h.c.Status().Live { // a stream may have been silent for so long just now that it counts as lost
		time.Sleep(time.Minute)
	}
	h.check(t, f)
	stop()
	workers.Wait()
}

func (h *host) check(t *testing.T, f *fake) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() {
		if t.Failed() {
			t.Logf("wanted is %+v, and there were %d connections", h.c.want, len(f.conns))
			t.Logf("it was told\n%s", strings.Join(h.story[max(0, len(h.story)-40):], "\n"))
			t.Logf("the server was asked\n%s", strings.Join(f.log[max(0, len(f.log)-40):], "\n"))
		}
	}()
	if h.fault != "" {
		t.Error(h.fault)
	}
	if !h.live || h.due || !h.c.Status().Live {
		t.Errorf("not live in the end: %+v", h.c.Status())
	}
	if h.want.List {
		there := slices.Sorted(maps.Keys(f.files))
		if known := slices.Sorted(maps.Keys(h.list)); !slices.Equal(known, there) {
			t.Errorf("the consumer knows of %q, there are %q", known, there)
		}
		var view []string
		for _, r := range h.c.Resources() {
			view = append(view, r.URI)
		}
		if !slices.Equal(view, there) {
			t.Errorf("the view has %q, there are %q", view, there)
		}
	}
	for _, uri := range h.followedLocked() {
		if h.holds[uri] != f.files[uri] {
			t.Errorf("%s: the consumer knows %q, there is %q", uri, h.holds[uri], f.files[uri])
		}
		if !h.want.Read {
			continue
		}
		if view := textOf(h.c.Contents(uri)); view != f.files[uri] {
			t.Errorf("%s: the view has %q, there is %q", uri, view, f.files[uri])
		}
	}
}
