package listen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// modelHandler is the part of a modelStream that a handler plays: the test says and asks what a handler would, and the
// handler itself only waits for what it is to return.
type modelHandler struct {
	ctx     context.Context
	p       *listen.Pending
	sender  *listen.Sender
	asked   listen.Filter
	returns chan error // has a buffer of 1
	cause   error      // why nothing more is taken from it, nil while it is
	failed  bool       // the answer is an error
	gone    bool       // it was told to return

	posts []*modelPost // in order
	due   time.Time    // when the first of them was first considered
	made  int
}

// modelPost is one call of Notify.
type modelPost struct {
	said string
	stop context.CancelFunc
	err  chan error // has a buffer of 1
}

type modelKey struct{}

// modelListen hands what a handler gets to the modelStream in the context.
func modelListen(ctx context.Context, r *listen.Request, p *listen.Pending) error {
	m := ctx.Value(modelKey{}).(*modelStream)
	m.h.ctx, m.h.p, m.h.asked = ctx, p, r.Filter
	return <-m.h.returns
}

var errModel = errors.New("model")

// modelSource publishes every key as what it is called in modelKeys, but for those that begin with c.
var modelSource = listen.URISource{ResourcesListChanged: true, PromptsListChanged: true, Has: func(uri string) bool { return uri[0] != 'c' }}

func openHandled(t *testing.T, h *listen.Hub, r *rand.Rand, m *modelStream, id []byte) *listen.Stream {
	m.h = &modelHandler{returns: make(chan error, 1)}
	m.until = eternity
	asked := listen.Filter{
		ResourcesListChanged: r.IntN(2) == 0, ToolsListChanged: r.IntN(2) == 0, PromptsListChanged: r.IntN(2) == 0,
	}
	for _, k := range modelKeys {
		if r.IntN(2) == 0 {
			asked.ResourceSubscriptions = append(asked.ResourceSubscriptions, k)
		}
	}
	params, err := json.Marshal(map[string]any{"notifications": asked})
	if err != nil {
		t.Fatal(err)
	}
	service := &listen.Service{Hub: h, Source: modelSource, Handler: listen.HandlerFunc(modelListen)}
	s, err := service.Open(context.WithValue(t.Context(), modelKey{}, m), id, params, m)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return s
}

// handlerDoes is one random thing that the handler of m does.
func (m *modelStream) handlerDoes(r *rand.Rand) {
	switch op := r.IntN(20); {
	case m.h.sender == nil && op < 12:
		m.acknowledge(r)
	case m.h.sender == nil && op < 18 || op < 1:
		m.returnFrom(r.IntN(2) == 0)
	case m.h.sender == nil:
	case op < 11:
		m.tell(r)
	case op < 17:
		m.notify()
	case len(m.h.posts) > 0:
		m.withdraw(r.IntN(len(m.h.posts)))
	}
}

// some is a random part of f, in another order.
func some(r *rand.Rand, f listen.Filter) (part listen.Filter) {
	part.ResourcesListChanged = f.ResourcesListChanged && r.IntN(3) > 0
	part.ToolsListChanged = f.ToolsListChanged && r.IntN(3) > 0
	part.PromptsListChanged = f.PromptsListChanged && r.IntN(3) > 0
	for _, i := range r.Perm(len(f.ResourceSubscriptions)) {
		if r.IntN(3) > 0 {
			part.ResourceSubscriptions = append(part.ResourceSubscriptions, f.ResourceSubscriptions[i])
		}
	}
	return part
}

func (m *modelStream) acknowledge(r *rand.Rand) {
	triggers := map[string]string{} // what the source publishes, by what it triggers
	for range r.IntN(3) {
		built, err := m.h.p.Builtin(m.h.ctx, some(r, m.h.asked))
		if !errors.Is(err, m.h.cause) || m.h.cause == nil && err != nil {
			m.t.Errorf("stream %s: Builtin: %v, want %v", m.tag, err, m.h.cause)
		}
		for _, what := range contents(built) {
			triggers[what] = what
		}
	}
	honoured := some(r, m.h.asked)
	sender, err := m.h.p.Acknowledge(honoured)
	if !errors.Is(err, m.h.cause) || m.h.cause == nil && err != nil || (sender == nil) != (err != nil) {
		m.t.Fatalf("stream %s: Acknowledge: %v, want %v", m.tag, err, m.h.cause)
	}
	if err != nil {
		return
	}
	m.h.sender = sender
	m.ack = true
	for _, what := range contents(honoured) {
		m.keys[what] = map[string]bool{}
		if key, ok := triggers[what]; ok {
			m.keys[what][key] = true
		}
	}
	m.wakeIf(true)
}

// contents are the methods and URIs of f.
func contents(f listen.Filter) (all []string) {
	for method, on := range map[string]bool{
		methodList: f.ResourcesListChanged, methodTools: f.ToolsListChanged, methodPrompts: f.PromptsListChanged,
	} {
		if on {
			all = append(all, method)
		}
	}
	return append(all, f.ResourceSubscriptions...)
}

// tell has the handler say a change, which may not be acknowledged.
func (m *modelStream) tell(r *rand.Rand) {
	all := append([]string{methodList, methodTools, methodPrompts}, modelKeys...)
	what := all[r.IntN(len(all))]
	var err error
	switch what {
	case methodList:
		err = m.h.sender.ResourcesListChanged()
	case methodTools:
		err = m.h.sender.ToolsListChanged()
	case methodPrompts:
		err = m.h.sender.PromptsListChanged()
	default:
		err = m.h.sender.Updated(what)
	}
	want := m.h.cause
	if want == nil && m.keys[what] == nil {
		want = listen.ErrNotAcknowledged
	}
	if !errors.Is(err, want) || want == nil && err != nil {
		m.t.Errorf("stream %s: tell %s: %v, want %v", m.tag, what, err, want)
	}
	if err != nil {
		return
	}
	m.unnamed[what] = true
	if !m.owed[what] {
		m.owed[what] = true
		m.wakeIf(m.due(what).Before(m.until))
	}
}

func (m *modelStream) notify() {
	ctx, stop := context.WithCancel(m.t.Context())
	p := &modelPost{said: fmt.Sprint("test/", m.h.made), stop: stop, err: make(chan error, 1)}
	m.h.made++
	go func() { p.err <- m.h.sender.Notify(ctx, p.said, nil) }()
	synctest.Wait()
	if m.h.cause != nil {
		m.settled(p, m.h.cause)
		return
	}
	m.h.posts = append(m.h.posts, p)
	m.wakeIf(true)
}

func (m *modelStream) withdraw(i int) {
	p := m.h.posts[i]
	p.stop()
	synctest.Wait()
	m.settled(p, context.Canceled)
	m.h.posts = slices.Delete(m.h.posts, i, i+1)
	if i == 0 {
		m.h.due = time.Time{}
	}
}

// settled checks that a Notify has returned an error.
func (m *modelStream) settled(p *modelPost, want error) {
	defer p.stop()
	select {
	case err := <-p.err:
		if err != want {
			m.t.Errorf("stream %s: Notify %s: %v, want %v", m.tag, p.said, err, want)
		}
	default:
		m.t.Errorf("stream %s: Notify %s goes on, want %v", m.tag, p.said, want)
	}
}

// posts is how many are to be handed out.
func (m *modelStream) posts() int {
	if m.h == nil {
		return 0
	}
	return len(m.h.posts)
}

// postFirst reports whether the next message is the first post.
func (m *modelStream) postFirst(now time.Time) bool {
	if m.h == nil || m.ack || len(m.h.posts) == 0 {
		return false
	}
	if m.h.due.IsZero() {
		m.h.due = now
	}
	for what := range m.owed {
		if !m.due(what).After(m.h.due) {
			return false
		}
	}
	return true
}

// checkPost checks that a message is the first post if it should be, and no other.
func (m *modelStream) checkPost(said string, due bool) (isPost bool) {
	isPost = strings.HasPrefix(said, "test/")
	if isPost != due || due && said != m.h.posts[0].said {
		m.t.Errorf("stream %s says %s, first post is due: %v", m.tag, said, due)
		return isPost
	}
	if due {
		synctest.Wait()
		m.settled(m.h.posts[0], nil)
		m.h.posts, m.h.due = m.h.posts[1:], time.Time{}
	}
	return isPost
}

// returnFrom has the handler return, with an error or none.
func (m *modelStream) returnFrom(fail bool) {
	if m.h.gone {
		return
	}
	m.h.gone = true
	var err error
	if fail {
		err = listen.InvalidParams("%v", errModel)
	}
	m.h.returns <- err
	synctest.Wait()
	if m.h.cause != nil {
		return
	}
	m.h.failed = fail
	m.close(listen.ErrEnded)
	m.ack = m.ack || m.h.sender == nil && !fail
	m.completing = true
	m.wakeIf(true)
}

// close is what the end of a stream does to its handler.
func (m *modelStream) close(cause error) {
	if m.h == nil || m.h.cause != nil {
		return
	}
	m.h.cause = cause
	if got := context.Cause(m.h.ctx); got != cause {
		m.t.Errorf("stream %s: the handler's context ended with %v, want %v", m.tag, got, cause)
	}
	synctest.Wait()
	for _, p := range m.h.posts {
		m.settled(p, cause)
	}
	m.h.posts = nil
}

// TestModelReachesHandlers guards the model against drawing lots that show nothing.
func TestModelReachesHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acknowledged, told, posted, failed int
		for seed := range uint64(20) {
			for _, m := range runModel(t, seed) {
				if m.h == nil {
					continue
				}
				if m.h.sender != nil {
					acknowledged++
				}
				if m.h.failed {
					failed++
				}
				told += len(m.last)
				posted += m.h.made
			}
		}
		if acknowledged < 40 || told < 30 || posted < 100 || failed < 10 {
			t.Errorf("%d acknowledged, %d told, %d posts, %d failed", acknowledged, told, posted, failed)
		}
	})
}
