package listen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// sourceFunc is a source in one function.
type sourceFunc func(context.Context, listen.Filter) (listen.Filter, []listen.Sub, error)

func (f sourceFunc) Honour(ctx context.Context, asked listen.Filter) (listen.Filter, []listen.Sub, error) {
	return f(ctx, asked)
}

func TestServiceWithoutAHandler(t *testing.T) {
	hub := listen.NewHub(nil)
	service := &listen.Service{Hub: hub, ServerInfo: json.RawMessage(`{"name":"s"}`), Source: listen.URISource{
		ToolsListChanged: true, Has: func(uri string) bool { return uri != "c" },
	}}
	params := `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a/","c","b"],"ext":1}}`
	s, err := service.Open(t.Context(), json.RawMessage(`7`), json.RawMessage(params), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	frame, _ := s.Next(nil, time.Now())
	if want := `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a/","b"]}}}`; !strings.HasSuffix(string(frame), want) {
		t.Errorf("the acknowledgement is %s", frame)
	}
	hub.Publish(listen.Change{Keys: []string{"a/x", "c", "b"}, Tools: true, Prompts: true, List: true})
	said, _ := drain(t, s, time.Now())
	check(t, said, methodTools, "a/", "b")
	s.Cancel()
}

// TestExtensionsOfASourceFitOnALine: they may be as the client spelled them, over however many lines.
func TestExtensionsOfASourceFitOnALine(t *testing.T) {
	service := &listen.Service{Hub: listen.NewHub(nil), Source: sourceFunc(func(_ context.Context, asked listen.Filter) (listen.Filter, []listen.Sub, error) {
		return listen.Filter{Extensions: asked.Extensions}, nil, nil
	})}
	s, err := service.Open(t.Context(), json.RawMessage(`7`), json.RawMessage("{\"notifications\":{\"ext\":{\n  \"a\": 1\r\n}}}"), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	frame, _ := s.Next(nil, time.Now())
	if m := decode(t, frame); string(m.Params.Notifications.Extensions["ext"]) != `{"a":1}` {
		t.Errorf("the acknowledgement is %s", frame)
	}
	s.Cancel()
}

func TestURISourceHonoursByItself(t *testing.T) {
	all := listen.Filter{ResourcesListChanged: true, ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"a", "b/"}}
	honoured, subs, err := listen.URISource{}.Honour(t.Context(), all)
	want := []listen.Sub{{Key: "a", URI: "a"}, {Key: "b", URI: "b/"}}
	if err != nil || honoured.ResourcesListChanged || honoured.ToolsListChanged || honoured.PromptsListChanged || !slices.Equal(subs, want) {
		t.Errorf("honoured %+v, %v, %v", honoured, subs, err)
	}
	honoured, _, _ = listen.URISource{ResourcesListChanged: true, ToolsListChanged: true, PromptsListChanged: true}.Honour(t.Context(), all)
	if !honoured.ResourcesListChanged || !honoured.ToolsListChanged || !honoured.PromptsListChanged {
		t.Errorf("honoured %+v", honoured)
	}
}

func TestServiceWithoutASourceHonoursNothing(t *testing.T) {
	service := &listen.Service{Hub: listen.NewHub(nil)}
	s, err := service.Open(t.Context(), json.RawMessage(`7`), json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	said, wait := drain(t, s, time.Now())
	check(t, said, "ack", "result")
	if wait != listen.Over {
		t.Errorf("wait is %v", wait)
	}
}

func TestListensThatAreNotOpened(t *testing.T) {
	odd := errors.New("odd")
	ended, end := context.WithCancel(t.Context())
	end()
	waits := listen.HandlerFunc(func(ctx context.Context, _ *listen.Request, _ *listen.Pending) error { <-ctx.Done(); return nil })
	var tooMany strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&tooMany, `,"%d"`, i)
	}
	for _, c := range []struct {
		name    string
		service listen.Service
		ctx     context.Context
		id      string
		params  string
		err     error
		text    string
		code    int
	}{
		{name: "no params", text: "invalid params: notifications is missing (-32602)", code: -32602},
		{name: "params that are none", params: `[]`, text: "invalid params: params: not an object (-32602)", code: -32602},
		{name: "no notifications", params: `{}`, text: "invalid params: notifications is missing (-32602)", code: -32602},
		{name: "a filter that is none", params: `{"notifications":{"toolsListChanged":1}}`, text: "invalid params: notifications.toolsListChanged must be a boolean (-32602)", code: -32602},
		{name: "too many URIs", params: `{"notifications":{"resourceSubscriptions":[` + tooMany.String()[1:] + `]}}`, code: -32602,
			text: "invalid params: notifications.resourceSubscriptions has 10001 URIs, the limit is 10000: subscribe to a directory, or open several listens (-32602)"},
		{name: "more URIs than one may have", service: listen.Service{MaxURIs: 1}, params: `{"notifications":{"resourceSubscriptions":["a","b"]}}`, code: -32602},
		{name: "no id", id: "-", params: `{"notifications":{}}`, text: "a listen needs an id", code: -32603},
		{name: "an id that is none", id: `1.5`, params: `{"notifications":{}}`, code: -32603},
		{name: "the same with a handler", id: `1.5`, service: listen.Service{Handler: waits}, params: `{"notifications":{}}`, code: -32603},
		{name: "the source refuses", service: listen.Service{Source: refusing(odd)}, params: `{"notifications":{}}`, err: odd, code: -32603},
		{name: "the source has a code", service: listen.Service{Source: refusing(&listen.Error{Code: 5, Message: "m"})}, params: `{"notifications":{}}`, code: 5},
		{name: "the source is too kind", service: listen.Service{Source: sourceFunc(func(context.Context, listen.Filter) (listen.Filter, []listen.Sub, error) {
			return listen.Filter{ToolsListChanged: true}, nil, nil
		})}, params: `{"notifications":{}}`, err: listen.ErrNotAsked, code: -32603},
		{name: "the source delivers too much", service: listen.Service{Source: honouring("a", "a", "b")}, params: `{"notifications":{"resourceSubscriptions":["a","b"]}}`,
			text: `source: "b" has a key and is not honoured`, code: -32603},
		{name: "the source delivers another", service: listen.Service{Source: honouring("a", "b")}, params: `{"notifications":{"resourceSubscriptions":["a","b"]}}`,
			text: `source: "b" has a key and is not honoured`, code: -32603},
		{name: "the source delivers too little", service: listen.Service{Source: honouring("a")}, params: `{"notifications":{"resourceSubscriptions":["a"]}}`,
			text: `source: "a" is honoured and has no key`, code: -32603},
		{name: "the source honours what is no JSON", service: listen.Service{Source: sourceFunc(func(context.Context, listen.Filter) (listen.Filter, []listen.Sub, error) {
			return listen.Filter{Extensions: map[string]json.RawMessage{"ext": nil}}, nil, nil
		})}, params: `{"notifications":{"ext":1}}`, text: "notifications.ext: unexpected end of JSON input", code: -32603},
		{name: "the client is gone", ctx: ended, params: `{"notifications":{}}`, err: context.Canceled, code: -32603},
		{name: "the same with a handler", ctx: ended, service: listen.Service{Handler: waits}, params: `{"notifications":{}}`, err: context.Canceled, code: -32603},
		{name: "the hub is full", service: listen.Service{Hub: listen.NewHub(&listen.Options{MaxStreams: 0}), Handler: waits}, params: `{"notifications":{}}`, err: listen.ErrShutdown, code: -32603},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.service.Hub == nil {
				c.service.Hub = listen.NewHub(nil)
			} else if err := c.service.Hub.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			id := json.RawMessage(`1`)
			if c.id != "" {
				id = json.RawMessage(strings.TrimPrefix(c.id, "-"))
			}
			s, err := c.service.Open(c.ctx, id, json.RawMessage(c.params), &counter{})
			if s != nil || err == nil || c.err != nil && !errors.Is(err, c.err) || c.text != "" && err.Error() != c.text {
				t.Fatalf("error is %v, want %v %s", err, c.err, c.text)
			}
			if e, _ := listen.ErrorOf(err); e.Code != c.code {
				t.Errorf("the client is told %v, want code %d", e, c.code)
			}
			if c.service.Hub.Len() != 0 {
				t.Error("a stream is left")
			}
		})
	}
}

func refusing(err error) listen.Source {
	return sourceFunc(func(context.Context, listen.Filter) (listen.Filter, []listen.Sub, error) {
		return listen.Filter{}, nil, err
	})
}

// honouring is a source that honours one URI and has keys for others.
func honouring(uri string, keys ...string) listen.Source {
	return sourceFunc(func(context.Context, listen.Filter) (honoured listen.Filter, subs []listen.Sub, _ error) {
		for _, key := range keys {
			subs = append(subs, listen.Sub{Key: key, URI: key})
		}
		return uris(uri), subs, nil
	})
}

// TestSourceMayMixItsKeys: what it honours may have several, in any order.
func TestSourceMayMixItsKeys(t *testing.T) {
	service := &listen.Service{Hub: listen.NewHub(nil), Source: sourceFunc(func(context.Context, listen.Filter) (listen.Filter, []listen.Sub, error) {
		return uris("b", "a"), []listen.Sub{{Key: "1", URI: "a"}, {Key: "2", URI: "b"}, {Key: "3", URI: "a"}}, nil
	})}
	s, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{"resourceSubscriptions":["a","c","b"]}}`), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	publish(service.Hub, "2", "3")
	said, _ := drain(t, s, time.Now())
	check(t, said, "ack", "b", "a")
	s.Cancel()
}

// TestAugmentedListen has one acknowledgement, and one notification of what both tell of.
func TestAugmentedListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := listen.NewHub(&listen.Options{ChangedMeta: changedMeta})
		var s *listen.Sender
		service := &listen.Service{Hub: hub, Source: listen.URISource{ResourcesListChanged: true}, Handler: listen.HandlerFunc(
			func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				for _, part := range []listen.Filter{{ResourcesListChanged: true, ToolsListChanged: true}, uris("a", "b", "not"), uris("b")} {
					if _, err := p.Builtin(ctx, part); err != nil {
						return err
					}
				}
				honoured := r.Filter
				honoured.ResourceSubscriptions = []string{"a", "b", "own"}
				var err error
				if s, err = p.Acknowledge(honoured); err == nil {
					<-ctx.Done()
				}
				return err
			})}
		params := `{"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":["a","b","not","own"],"ext":true}}`
		stream, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(params), &counter{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		v := &serving{t: t, hub: hub, s: stream}
		v.says("ack")
		everything := listen.Change{Keys: []string{"a/x", "b/x", "b/y", "own", "not"}, List: true, Tools: true}
		hub.Publish(everything)
		is(t, "list", s.ResourcesListChanged(), nil)
		is(t, "a", s.Updated("a"), nil)
		frames := v.frames()
		var said []string
		for _, frame := range frames {
			m := decode(t, []byte(frame))
			said = append(said, m.said())
			switch names, _ := m.named(); m.said() {
			case "a":
				if names != nil {
					t.Errorf("%s denies what the handler has told", frame)
				}
			case "b":
				check(t, names, "b/x", "b/y")
			}
		}
		check(t, said, methodList, "a", "b")
		is(t, "own", s.Updated("own"), nil)
		is(t, "tools", s.ToolsListChanged(), nil)
		v.says("own", methodTools)
		time.Sleep(time.Minute)
		hub.Publish(listen.Change{Keys: []string{"a/x"}})
		if frames := v.frames(); len(frames) != 1 || !strings.Contains(frames[0], `"test/changed":["a/x"]`) {
			t.Errorf("said %q", frames)
		}
		stream.Cancel()
		hub.Publish(everything)
		v.says()
		if keys, _ := hub.Keys(nil, -1, 10); len(keys) > 0 {
			t.Errorf("keys %q are left", keys)
		}
	})
}

// TestWakesOfAHandler come when there is something to say, also for carriers that keep asking.
func TestWakesOfAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var c counter
		service := &listen.Service{Hub: listen.NewHub(nil), Handler: listen.HandlerFunc(
			func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				<-gate
				s, err := p.Acknowledge(r.Filter)
				if err != nil {
					return err
				}
				<-gate
				return s.ToolsListChanged()
			})}
		s, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), &c)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c.wakes.Load() != 0 || !s.Pending() {
			t.Errorf("woken %d times, pending %v", c.wakes.Load(), s.Pending())
		}
		for _, want := range []string{"ack", methodTools} {
			said, wait := drain(t, s, time.Now())
			if len(said) > 0 || wait != 0 {
				t.Errorf("said %q, wait %v", said, wait)
			}
			gate <- struct{}{}
			synctest.Wait()
			if c.wakes.Swap(0) != 1 || s.Pending() {
				t.Errorf("%s: not woken once, pending %v", want, s.Pending())
			}
			if frame, _ := s.Next(nil, time.Now()); decode(t, frame).said() != want {
				t.Errorf("said %s, want %s", frame, want)
			}
		}
		said, _ := drain(t, s, time.Now())
		check(t, said, "result")
	})
}
