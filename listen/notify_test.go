package listen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestNotifyWaitsUntilItIsHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *listen.Sender
		v := serve(t, `1`, `{"ext":1}`, stays(listen.Filter{Extensions: map[string]json.RawMessage{"ext": json.RawMessage(`1`)}}, &s))
		var returned []int
		go func() {
			for i := range 3 {
				is(t, "Notify", s.Notify(t.Context(), fmt.Sprint("ext/", i), nil), nil)
				returned = append(returned, i)
			}
		}()
		for want, said := range []string{"ack", "ext/0", "ext/1", "ext/2"} {
			synctest.Wait()
			if len(returned) != max(want-1, 0) {
				t.Errorf("before %s it has returned %v", said, returned)
			}
			frame, _ := v.s.Next(nil, time.Now())
			if got := decode(t, frame).said(); got != said {
				t.Errorf("said %s, want %s", got, said)
			}
		}
		synctest.Wait()
		if len(returned) != 3 {
			t.Errorf("it has returned %v", returned)
		}
		v.s.Cancel()
	})
}

// TestNotifyThatIsGivenUp is never handed out, and what waits behind it is.
func TestNotifyThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *listen.Sender
		v := serve(t, `1`, `{"ext":1}`, stays(listen.Filter{}, &s))
		cause := errors.New("cause")
		ctx, stop := context.WithCancelCause(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- s.Notify(ctx, "first", nil) }()
		synctest.Wait()
		go func() { second <- s.Notify(t.Context(), "second", nil) }()
		synctest.Wait()
		stop(cause)
		is(t, "the first", <-first, cause)
		is(t, "with a context that has ended", s.Notify(ctx, "third", nil), cause)
		v.says("ack", "second")
		is(t, "the second", <-second, nil)
		v.s.Cancel()
	})
}

// TestNotifyOvertakesNothing: what was told before and is due is said before.
func TestNotifyOvertakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *listen.Sender
		v := serve(t, `1`, `{"resourceSubscriptions":["a","b","c"]}`, stays(uris("a", "b", "c"), &s))
		is(t, "b", s.Updated("b"), nil)
		is(t, "a", s.Updated("a"), nil)
		go s.Notify(t.Context(), "ext/x", nil)
		synctest.Wait()
		v.says("ack", "b", "a", "ext/x")
		is(t, "a", s.Updated("a"), nil) // in its pace
		go s.Notify(t.Context(), "ext/y", nil)
		synctest.Wait()
		v.says("ext/y")
		time.Sleep(time.Second)
		v.says("a")
		v.s.Cancel()
	})
}

// TestFloodKeepsNoNotificationBack has changes without end, which are due at once.
func TestFloodKeepsNoNotificationBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := listen.NewHub(&listen.Options{UpdateInterval: -time.Hour}) // none, as any negative one
		var s *listen.Sender
		service := &listen.Service{Hub: hub, Handler: stays(uris("a", "b"), &s)}
		stream, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{"resourceSubscriptions":["a","b"]}}`), &counter{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		go s.Notify(t.Context(), "ext/x", nil)
		synctest.Wait()
		var said []string
		for range 8 {
			is(t, "a", s.Updated("a"), nil)
			is(t, "b", s.Updated("b"), nil)
			frame, _ := stream.Next(nil, time.Now())
			said = append(said, decode(t, frame).said())
			time.Sleep(time.Microsecond)
		}
		if at := slices.Index(said, "ext/x"); at < 3 || at > 5 { // after each URI, once for what was due and once for what was just said
			t.Errorf("said %q", said)
		}
		stream.Cancel()
	})
}

func TestNotificationKeepsWhatIsInIt(t *testing.T) {
	type params struct {
		Meta map[string]any `json:"_meta,omitempty"`
		Text string         `json:"text"`
	}
	const id, stamp = `"s"`, `"io.modelcontextprotocol/subscriptionId":"s"`
	for _, c := range []struct {
		params any
		want   string
	}{
		{nil, `{"_meta":{` + stamp + `}}`},
		{json.RawMessage(nil), `{"_meta":{` + stamp + `}}`},
		{map[string]any(nil), `{"_meta":{` + stamp + `}}`},
		{struct{}{}, `{"_meta":{` + stamp + `}}`},
		{json.RawMessage(`{"b":1,"a": 2}`), `{"_meta":{` + stamp + `},"b":1,"a":2}`},
		{params{Text: "<&>\n\u2028"}, `{"_meta":{` + stamp + `},"text":"<&>\n\u2028"}`},
		{&params{Meta: map[string]any{"b": 2, "a": "1"}}, `{"_meta":{` + stamp + `,"a":"1","b":2},"text":""}`},
		{json.RawMessage("{ \"n\": 12345678901234567890,\n\"_meta\" : {\"io.modelcontextprotocol/subscriptionId\":\"other\"} }"),
			`{"_meta":{` + stamp + `},"n":12345678901234567890}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := serve(t, id, `{}`, func(ctx context.Context, _ *listen.Request, p *listen.Pending) error {
				s, err := p.Acknowledge(listen.Filter{})
				if err != nil {
					return err
				}
				return s.Notify(ctx, "x/y", c.params)
			})
			frames := v.frames()
			want := `{"jsonrpc":"2.0","method":"x/y","params":` + strings.ReplaceAll(c.want, "\u2028", "\\u2028") + `}`
			if got := strings.ReplaceAll(frames[1], "\u2028", "\\u2028"); len(frames) != 3 || got != want {
				t.Errorf("said %q, want %q", frames, want)
			}
		})
	}
}

func TestNotificationsThatAreRefused(t *testing.T) {
	const bad = "\xff"
	for _, c := range []struct {
		method string
		params any
		want   error
		text   string
	}{
		{method: "notifications/progress", want: listen.ErrNotHere},
		{method: "notifications/message", want: listen.ErrNotHere},
		{method: "notifications/cancelled", want: listen.ErrNotHere},
		{method: methodAck, want: listen.ErrNotHere, text: methodAck + ": it is not sent on the stream of a listen"},
		{method: methodTools, want: listen.ErrNotAcknowledged, text: methodTools + ": it was not acknowledged"},
		{method: methodPrompts, want: listen.ErrNotAcknowledged},
		{method: methodUpdated, params: uriParams("b"), want: listen.ErrNotAcknowledged},
		{method: methodUpdated, params: uriParams("ab"), want: listen.ErrNotAcknowledged, text: methodUpdated + ` for "ab": it was not acknowledged`},
		{method: methodUpdated, text: "params of " + methodUpdated + ": uri must be a string"},
		{method: methodUpdated, params: map[string]int{"uri": 1}, text: "params of " + methodUpdated + ": uri must be a string"},
		{method: "", text: "a notification needs a method"},
		{method: bad, text: "the method of a notification must be valid UTF-8"},
		{method: "x", params: 1, text: "params of x: not an object"},
		{method: "x", params: []int{}, text: "params of x: not an object"},
		{method: "x", params: func() {}, text: "params of x: json: unsupported type: func()"},
		{method: "x", params: json.RawMessage(`{`), text: "params of x: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
		{method: "x", params: json.RawMessage(`{"a":"` + bad + `"}`), text: "params of x: not valid UTF-8"},
		{method: "x", params: json.RawMessage(`{"a":1,"a":2}`), text: `params of x: "a" occurs twice`},
		{method: "x", params: json.RawMessage(`{"\ud800":1}`), text: `params of x: the name "\xed\xa0\x80" is not Unicode`},
		{method: "x", params: json.RawMessage(`{"_meta":1}`), text: "params._meta of x: not an object"},

		{method: methodList},
		{method: methodUpdated, params: uriParams("a")},
		{method: methodUpdated, params: uriParams("a/b/c")},
		{method: methodUpdated, params: uriParams("d/e")},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := serve(t, `1`, `{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":["a","b","d/"]}`,
				func(ctx context.Context, _ *listen.Request, p *listen.Pending) error {
					s, err := p.Acknowledge(listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "d/"}})
					if err != nil {
						return err
					}
					err = s.Notify(ctx, c.method, c.params)
					if good := c.want == nil && c.text == ""; good != (err == nil) || c.want != nil && !errors.Is(err, c.want) || c.text != "" && err.Error() != c.text {
						t.Errorf("Notify(%q, %s): %v", c.method, c.params, err)
					}
					return nil
				})
			if said := len(v.frames()); (said == 3) != (c.want == nil && c.text == "") {
				t.Errorf("Notify(%q): %d messages", c.method, said)
			}
		})
	}
}

func uriParams(uri string) map[string]string { return map[string]string{"uri": uri} }

// TestNotifyTellsTheTruth has many notifications from many goroutines, some given up, and then the end: those that returned
// nil were handed out, and no others.
func TestNotifyTellsTheTruth(t *testing.T) {
	for _, end := range []func(*listen.Stream){(*listen.Stream).Cancel, (*listen.Stream).Complete} {
		hub := listen.NewHub(nil)
		var mu sync.Mutex
		sent, said := map[string]bool{}, map[string]bool{}
		service := &listen.Service{Hub: hub, Handler: listen.HandlerFunc(func(_ context.Context, _ *listen.Request, p *listen.Pending) error {
			s, err := p.Acknowledge(listen.Filter{})
			if err != nil {
				return err
			}
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					for n := 0; ; n++ {
						method := fmt.Sprint("ext/", i, "/", n)
						ctx, stop := context.WithCancel(context.Background())
						if n%3 == 0 {
							go stop()
						}
						err := s.Notify(ctx, method, nil)
						stop()
						if err == nil {
							mu.Lock()
							sent[method] = true
							mu.Unlock()
						} else if err != context.Canceled {
							return
						}
					}
				})
			}
			all.Wait()
			return nil
		})}
		s, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{}}`), &counter{})
		if err != nil {
			t.Fatal(err)
		}
		for len(said) < 500 {
			frame, _ := s.Next(nil, time.Now())
			if frame == nil {
				runtime.Gosched()
				continue
			}
			if m := decode(t, frame); m.Method != methodAck {
				said[m.Method] = true
			}
		}
		end(s)
		drained, _ := drain(t, s, time.Now())
		if err := hub.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(sent, said) || len(drained) > 1 || len(drained) == 1 && drained[0] != "result" {
			t.Errorf("%d are said to be sent, %d were, then %q", len(sent), len(said), drained)
		}
	}
}

// FuzzNotify: what is sent is one line of JSON, with the id and all that was given.
func FuzzNotify(f *testing.F) {
	f.Add("ext/x", []byte(`{"a":1,"_meta":{"k":[1]}}`))
	f.Add("notifications/resources/updated", []byte(` {"uri":"a\u002fb" } `))
	f.Add("\x00", []byte(`null`))
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		senders := make(chan *listen.Sender, 1)
		service := &listen.Service{Hub: listen.NewHub(nil), Handler: listen.HandlerFunc(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			s, err := p.Acknowledge(r.Filter)
			senders <- s
			<-ctx.Done()
			return err
		})}
		client := make(bell, 1)
		stream, err := service.Open(t.Context(), json.RawMessage(`"\u0069d"`), json.RawMessage(`{"notifications":{"resourceSubscriptions":["a"]}}`), client)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Cancel()
		s := <-senders
		drain(t, stream, time.Now())
		<-client
		sent := make(chan error, 1)
		go func() { sent <- s.Notify(t.Context(), method, json.RawMessage(params)) }()
		select {
		case <-sent: // refused
			return
		case <-client:
		}
		frame, _ := stream.Next(nil, time.Now())
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		m := decode(t, frame)
		if bytes.ContainsAny(frame, "\r\n") || !utf8.Valid(frame) || m.Method != method || string(m.Params.Meta[subscriptionID]) != `"\u0069d"` {
			t.Fatalf("%q with %s is sent as %s", method, params, frame)
		}
		var got struct{ Params map[string]any }
		var want map[string]any
		if json.Unmarshal(frame, &got) != nil || len(params) > 0 && json.Unmarshal(params, &want) != nil {
			t.Fatalf("%q with %s is sent as %s", method, params, frame)
		}
		delete(got.Params["_meta"].(map[string]any), subscriptionID)
		meta, _ := want["_meta"].(map[string]any)
		delete(meta, subscriptionID)
		if meta == nil {
			meta = map[string]any{}
		}
		if want == nil {
			want = map[string]any{}
		}
		want["_meta"] = meta
		if !reflect.DeepEqual(got.Params, want) {
			t.Fatalf("%q with %s is sent as %s", method, params, frame)
		}
	})
}
