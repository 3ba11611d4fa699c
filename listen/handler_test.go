package listen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// serving is a listen that a handler answers, in a bubble.
type serving struct {
	t   *testing.T
	hub *listen.Hub
	s   *listen.Stream
	log bytes.Buffer
}

// serve opens a listen with a filter, which f answers, and waits until that does nothing any more.
func serve(t *testing.T, id, notifications string, f listen.HandlerFunc) *serving {
	t.Helper()
	v := &serving{t: t, hub: listen.NewHub(nil)}
	service := &listen.Service{
		Hub: v.hub, Handler: f, Source: listen.URISource{ResourcesListChanged: true}, ServerInfo: json.RawMessage(`{"name":"s"}`),
		Logger: slog.New(slog.NewTextHandler(&v.log, nil)),
	}
	s, err := service.Open(t.Context(), json.RawMessage(id), json.RawMessage(`{"notifications":`+notifications+`}`), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	v.s = s
	synctest.Wait()
	return v
}

// frames are all that is due.
func (v *serving) frames() (all []string) {
	v.t.Helper()
	for {
		frame, _ := v.s.Next(nil, time.Now())
		if frame == nil {
			synctest.Wait()
			return all
		}
		decode(v.t, frame)
		all = append(all, string(frame))
		synctest.Wait()
	}
}

// says checks what is due, in short.
func (v *serving) says(want ...string) {
	v.t.Helper()
	var said []string
	for _, frame := range v.frames() {
		said = append(said, decode(v.t, []byte(frame)).said())
	}
	check(v.t, said, want...)
}

// stays acknowledges, hands out the sender, and stays until its context ends.
func stays(honoured listen.Filter, sender **listen.Sender) listen.HandlerFunc {
	return func(ctx context.Context, _ *listen.Request, p *listen.Pending) (err error) {
		if *sender, err = p.Acknowledge(honoured); err == nil {
			<-ctx.Done()
		}
		return err
	}
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s: error is %v, want %v", what, err, want)
	}
}

func TestIDsComeBackByteForByte(t *testing.T) {
	for _, id := range []string{`0`, `-0`, `1`, `"1"`, `9007199254740993`, `"\u0061\/"`, `""`, `"ü<&>"`} {
		synctest.Test(t, func(t *testing.T) {
			v := serve(t, id, `{"resourceSubscriptions":["a"],"ext":{}}`, func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				if string(r.ID) != id {
					t.Errorf("the handler is asked by %s, want %s", r.ID, id)
				}
				s, err := p.Acknowledge(r.Filter)
				if err != nil {
					return err
				}
				return errors.Join(s.Updated("a"), s.Notify(ctx, "ext/happened", map[string]any{"n": 1}))
			})
			want := []string{
				`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID},"notifications":{"resourceSubscriptions":["a"],"ext":{}}}}`,
				`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID},"uri":"a"}}`,
				`{"jsonrpc":"2.0","method":"ext/happened","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID},"n":1}}`,
				`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":ID,"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}`,
			}
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "ID", id)
			}
			if got := v.frames(); !slices.Equal(got, want) {
				t.Errorf("said\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestErrorAnswerHasTheID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, `"\u0031"`, `{}`, func(context.Context, *listen.Request, *listen.Pending) error {
			return &listen.Error{Code: -32099, Message: "no <room>", Data: json.RawMessage("{ \"free\":\n0 }")}
		})
		check(t, v.frames(), `{"jsonrpc":"2.0","id":"\u0031","error":{"code":-32099,"message":"no <room>","data":{"free":0}}}`)
	})
}

// TestHandlerSeesWhatTheClientSent has the extensions and the whole of the parameters.
func TestHandlerSeesWhatTheClientSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notifications := `{"toolsListChanged":true,"ext": {"big":9007199254740993}}`
		v := serve(t, `1`, notifications, func(_ context.Context, r *listen.Request, p *listen.Pending) error {
			if want := `{"notifications":` + notifications + `}`; string(r.Params) != want {
				t.Errorf("params are %s, want %s", r.Params, want)
			}
			if !r.Filter.ToolsListChanged || string(r.Filter.Extensions["ext"]) != `{"big":9007199254740993}` {
				t.Errorf("filter is %+v", r.Filter)
			}
			_, err := p.Acknowledge(listen.Filter{Extensions: map[string]json.RawMessage{"ext": json.RawMessage("{\n\"big\" : 1 }")}})
			return err
		})
		frames := v.frames()
		if !strings.HasSuffix(frames[0], `"notifications":{"ext":{"big":1}}}}`) {
			t.Errorf("the acknowledgement is %s", frames[0])
		}
	})
}

func TestAcknowledgedIsOnlyWhatWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := func(s string) map[string]json.RawMessage {
			return map[string]json.RawMessage{"ext": json.RawMessage(s)}
		}
		v := serve(t, `1`, `{"toolsListChanged":true,"resourceSubscriptions":["a","b","%61"],"ext":1}`,
			func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				for _, c := range []struct {
					f    listen.Filter
					want string
				}{
					{listen.Filter{PromptsListChanged: true}, "notifications/prompts/list_changed: the client did not ask for it"},
					{listen.Filter{ResourcesListChanged: true}, "notifications/resources/list_changed: the client did not ask for it"},
					{uris("a", "c"), `notifications.resourceSubscriptions, "c": the client did not ask for it`},
					{uris("a/"), `notifications.resourceSubscriptions, "a/": the client did not ask for it`},
					{uris("a", "a"), `notifications.resourceSubscriptions names "a" twice`},
					{listen.Filter{Extensions: map[string]json.RawMessage{"Ext": nil}}, "notifications.Ext: the client did not ask for it"},
					{listen.Filter{Extensions: map[string]json.RawMessage{"toolsListChanged": json.RawMessage(`1`)}}, "notifications.toolsListChanged: the client did not ask for it"},
					{listen.Filter{Extensions: raw(`{`)}, "notifications.ext: unexpected end of JSON input"},
					{listen.Filter{Extensions: raw("\"\xff\"")}, "notifications.ext: not valid UTF-8"},
				} {
					if s, err := p.Acknowledge(c.f); s != nil || err == nil || err.Error() != c.want {
						t.Errorf("Acknowledge(%+v): %v, want %s", c.f, err, c.want)
					}
				}
				_, err := p.Builtin(ctx, uris("c"))
				is(t, "Builtin of another URI", err, listen.ErrNotAsked)
				s, err := p.Acknowledge(uris("%61", "a")) // in an order of its own
				if err != nil {
					return err
				}
				is(t, "a", s.Updated("a"), nil)
				is(t, "b", s.Updated("b"), listen.ErrNotAcknowledged)
				is(t, "tools", s.ToolsListChanged(), listen.ErrNotAcknowledged)
				return nil
			})
		frames := v.frames()
		if !strings.HasSuffix(frames[0], `"notifications":{"resourceSubscriptions":["%61","a"]}}}`) {
			t.Errorf("the acknowledgement is %s", frames[0])
		}
	})
}

// What a handler does to its request, and to the filter it acknowledged, changes nothing of what may be and was acknowledged.
func TestRequestIsTheHandlersToChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, `1`, `{"resourceSubscriptions":["a","b"],"ext":1}`,
			func(_ context.Context, r *listen.Request, p *listen.Pending) error {
				honoured := r.Filter
				honoured.Extensions["other"] = json.RawMessage(`1`)
				_, err := p.Acknowledge(honoured)
				is(t, "an extension of the handler's", err, listen.ErrNotAsked)
				delete(honoured.Extensions, "other")
				honoured.ResourceSubscriptions[0] = "c"
				_, err = p.Acknowledge(honoured)
				is(t, "a URI of the handler's", err, listen.ErrNotAsked)
				honoured.ResourceSubscriptions[0] = "a"
				s, err := p.Acknowledge(honoured)
				is(t, "what was asked for", err, nil)
				honoured.ResourceSubscriptions[0] = "c"
				is(t, "a", s.Updated("a"), nil)
				return nil
			})
		frames := v.frames()
		if !strings.HasSuffix(frames[0], `"notifications":{"resourceSubscriptions":["a","b"],"ext":1}}}`) {
			t.Errorf("the acknowledgement is %s", frames[0])
		}
	})
}

func TestAcknowledgedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, `1`, `{"resourceSubscriptions":["a"]}`, func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			var senders, refused int
			var mu sync.Mutex
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					s, err := p.Acknowledge(r.Filter)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case s != nil && err == nil:
						senders++
					case errors.Is(err, listen.ErrAcknowledged):
						refused++
					}
				})
			}
			all.Wait()
			if senders != 1 || refused != 7 {
				t.Errorf("%d senders, %d refused", senders, refused)
			}
			_, err := p.Builtin(ctx, r.Filter)
			is(t, "Builtin after it", err, listen.ErrAcknowledged)
			return nil
		})
		v.says("ack", "result")
	})
}

// TestCancelBeforeAcknowledge: no acknowledgement goes out after a cancellation, whichever comes first.
func TestCancelBeforeAcknowledge(t *testing.T) {
	for range 200 {
		hub := listen.NewHub(nil)
		start, outcome := make(chan struct{}), make(chan error, 1)
		service := &listen.Service{Hub: hub, Handler: listen.HandlerFunc(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			<-start
			_, err := p.Acknowledge(r.Filter)
			<-ctx.Done()
			if cause := context.Cause(ctx); cause != listen.ErrCancelled {
				t.Errorf("the context ended with %v", cause)
			}
			outcome <- err
			return nil
		})}
		s, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{"resourceSubscriptions":["a"]}}`), &counter{})
		if err != nil {
			t.Fatal(err)
		}
		close(start)
		runtime.Gosched()
		s.Cancel()
		if frame, wait := s.Next(nil, time.Now()); frame != nil || wait != listen.Over {
			t.Fatalf("after the cancellation it says %s, %v", frame, wait)
		}
		if err := <-outcome; err != nil && err != listen.ErrCancelled {
			t.Errorf("Acknowledge: %v", err)
		}
		publish(hub, "a")
		if frame, _ := s.Next(nil, time.Now()); frame != nil || hub.Len() != 0 {
			t.Fatalf("it says %s, %d streams are left", frame, hub.Len())
		}
	}
}

func TestNothingAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *listen.Sender
		v := serve(t, `1`, `{"resourceSubscriptions":["a"],"resourcesListChanged":true}`, stays(listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a"}}, &s))
		is(t, "Updated", s.Updated("a"), nil)
		notified := make(chan error, 1)
		go func() { notified <- s.Notify(context.Background(), "x", nil) }()
		synctest.Wait()
		v.s.Cancel()
		is(t, "Notify that waited", <-notified, listen.ErrCancelled)
		is(t, "Updated", s.Updated("a"), listen.ErrCancelled)
		is(t, "list", s.ResourcesListChanged(), listen.ErrCancelled)
		is(t, "Notify", s.Notify(context.Background(), "x", nil), listen.ErrCancelled)
		v.says()
		v.s.Complete()
		v.says()
	})
}

type contextKey struct{}

// TestHandlerContext has the values of the context that the listen was opened with, and not its end.
func TestHandlerContext(t *testing.T) {
	for _, c := range []struct {
		end  func(*listen.Stream)
		want error
	}{
		{(*listen.Stream).Cancel, listen.ErrCancelled},
		{(*listen.Stream).Complete, listen.ErrShutdown},
		{func(s *listen.Stream) { s.Complete(); s.Cancel() }, listen.ErrShutdown},
		{func(s *listen.Stream) { s.Cancel(); s.Complete() }, listen.ErrCancelled},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ctx context.Context
			service := &listen.Service{Hub: listen.NewHub(nil), Handler: listen.HandlerFunc(func(c context.Context, _ *listen.Request, p *listen.Pending) error {
				ctx = c
				<-c.Done()
				_, err := p.Acknowledge(listen.Filter{})
				is(t, "Acknowledge", err, context.Cause(c))
				_, err = p.Builtin(c, listen.Filter{})
				is(t, "Builtin", err, context.Cause(c))
				return c.Err()
			})}
			opening, opened := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "value"))
			s, err := service.Open(opening, json.RawMessage(`1`), json.RawMessage(`{"notifications":{}}`), &counter{})
			if err != nil {
				t.Fatal(err)
			}
			opened()
			synctest.Wait()
			if ctx.Err() != nil || ctx.Value(contextKey{}) != "value" {
				t.Errorf("the context has %v, and ended with %v", ctx.Value(contextKey{}), ctx.Err())
			}
			c.end(s)
			synctest.Wait()
			is(t, "the context", context.Cause(ctx), c.want)
		})
	}
}

// TestShutdownCompletesWhatTheHandlerLeaves: whatever it does with its context.
func TestShutdownCompletesWhatTheHandlerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := serve(t, `1`, `{"resourceSubscriptions":["a"]}`, func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			s, err := p.Acknowledge(r.Filter)
			if err != nil {
				return err
			}
			<-ctx.Done()
			is(t, "Updated", s.Updated("a"), listen.ErrShutdown)
			<-release
			return errors.New("too late to matter")
		})
		publish(v.hub, "a") // nobody asked the source
		v.s.Complete()
		v.says("ack", "result")
		early, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		is(t, "Shutdown with a handler that ignores its context", v.hub.Shutdown(early), context.DeadlineExceeded)
		ended := make(chan error, 1)
		go func() { ended <- v.hub.Shutdown(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Errorf("Shutdown has not waited for the handler: %v", err)
		default:
		}
		close(release)
		is(t, "Shutdown", <-ended, nil)
		if v.log.Len() > 0 {
			t.Errorf("logged %s", &v.log)
		}
	})
}

func TestShutdownBeforeTheAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, `1`, `{"resourceSubscriptions":["a"]}`, func(ctx context.Context, _ *listen.Request, _ *listen.Pending) error {
			<-ctx.Done()
			return nil
		})
		v.says()
		ended := make(chan error, 1)
		go func() { ended <- v.hub.Shutdown(t.Context()) }()
		synctest.Wait()
		frames := v.frames()
		if len(frames) != 2 || !strings.Contains(frames[0], `"notifications":{}`) || !v.s.Finished() {
			t.Errorf("said %q", frames)
		}
		is(t, "Shutdown", <-ended, nil)
	})
}

// TestHandlersCountUntilTheyReturn: what is cancelled cannot be opened anew without end.
func TestHandlersCountUntilTheyReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		service := &listen.Service{Hub: listen.NewHub(&listen.Options{MaxStreams: 2}), Handler: listen.HandlerFunc(func(context.Context, *listen.Request, *listen.Pending) error {
			<-release
			return nil
		})}
		open := func() (*listen.Stream, error) {
			return service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{}}`), &counter{})
		}
		for range 2 {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			s.Cancel()
		}
		if service.Hub.Len() != 0 {
			t.Errorf("%d streams are open", service.Hub.Len())
		}
		_, err := open()
		is(t, "open beside two handlers that go on", err, listen.ErrTooManyStreams)
		close(release)
		synctest.Wait()
		s, err := open()
		is(t, "open after they returned", err, nil)
		s.Cancel()
	})
}

func TestReturning(t *testing.T) {
	odd := errors.New("/secret/path: odd")
	for _, c := range []struct {
		name string
		f    listen.HandlerFunc
		want []string
		last string // how the last frame ends
		log  string
	}{
		{name: "nil before the acknowledgement", want: []string{"ack", "result"},
			f: func(context.Context, *listen.Request, *listen.Pending) error { return nil }},
		{name: "nil after it", want: []string{"ack", "a", "result"}, f: afterUpdates(nil)},
		{name: "nothing as an Error", want: []string{"ack", "a", "result"}, f: func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
			var none *listen.Error
			_ = afterUpdates(nil)(ctx, r, p)
			return none
		}},
		{name: "an error before it", want: []string{"error"}, last: `"error":{"code":-32602,"message":"invalid params: no"}}`,
			f: func(context.Context, *listen.Request, *listen.Pending) error {
				return fmt.Errorf("wrapped: %w", listen.InvalidParams("no"))
			}},
		{name: "an error after it", want: []string{"ack", "a", "error"}, last: `"error":{"code":-32602,"message":"invalid params: no"}}`, f: afterUpdates(listen.InvalidParams("no"))},
		{name: "an unknown error", want: []string{"ack", "a", "error"}, last: `"error":{"code":-32603,"message":"internal error: the server's log has the cause"}}`,
			f: afterUpdates(odd), log: odd.Error()},
		{name: "an error with data that is none", want: []string{"error"}, last: `"error":{"code":1,"message":"m"}}`,
			f: func(context.Context, *listen.Request, *listen.Pending) error {
				return &listen.Error{Code: 1, Message: "m", Data: func() {}}
			}},
		{name: "a deadline of its own", want: []string{"error"}, last: `"error":{"code":-32603,"message":"the request was abandoned"}}`, log: "deadline",
			f: func(context.Context, *listen.Request, *listen.Pending) error {
				return fmt.Errorf("ask the queue: %w", context.DeadlineExceeded)
			}},
		{name: "a panic", want: []string{"error"}, last: `"error":{"code":-32603,"message":"internal error: the server's log has the cause"}}`, log: "TestReturning",
			f: func(context.Context, *listen.Request, *listen.Pending) error { panic("fault") }},
		{name: "a panic after the acknowledgement", want: []string{"ack", "a", "error"}, log: "fault=fault",
			f: func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				_ = afterUpdates(nil)(ctx, r, p)
				panic("fault")
			}},
		{name: "a panic of what is in the error", want: []string{"error"}, log: "fault=data",
			f: func(context.Context, *listen.Request, *listen.Pending) error { return &listen.Error{Data: panics{}} }},
		{name: "the end of the goroutine", want: []string{"error"}, log: "listen failed",
			f: func(context.Context, *listen.Request, *listen.Pending) error { runtime.Goexit(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := serve(t, `1`, `{"resourceSubscriptions":["a"]}`, c.f)
				var said []string
				frames := v.frames()
				for _, frame := range frames {
					said = append(said, decode(t, []byte(frame)).said())
				}
				check(t, said, c.want...)
				if !strings.HasSuffix(frames[len(frames)-1], c.last) || !v.s.Finished() || v.hub.Len() != 0 {
					t.Errorf("the last is %s, finished %v, %d streams are left", frames[len(frames)-1], v.s.Finished(), v.hub.Len())
				}
				if log := v.log.String(); !strings.Contains(log, c.log) || c.log == "" && log != "" {
					t.Errorf("logged %q, want %q", log, c.log)
				}
				if refused := v.s.Refused() != nil; refused != (c.want[0] == "error") {
					t.Errorf("refused: %v", v.s.Refused())
				}
			})
		})
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("data") }

// afterUpdates returns err while two updates are owed for one URI.
func afterUpdates(err error) listen.HandlerFunc {
	return func(_ context.Context, r *listen.Request, p *listen.Pending) error {
		s, failure := p.Acknowledge(r.Filter)
		if failure != nil {
			return failure
		}
		for range 2 {
			if failure := s.Updated("a"); failure != nil {
				return failure
			}
		}
		return err
	}
}

// TestPanicWhileTheServerEnds changes nothing of what the client is told.
func TestPanicWhileTheServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, `1`, `{}`, func(ctx context.Context, _ *listen.Request, _ *listen.Pending) error {
			<-ctx.Done()
			panic("fault")
		})
		v.s.Complete()
		synctest.Wait()
		v.says("ack", "result")
		if !strings.Contains(v.log.String(), "fault=fault") || v.s.Refused() != nil {
			t.Errorf("logged %q, refused %v", &v.log, v.s.Refused())
		}
	})
}

// TestPanicIsLoggedByDefault: nobody need set a logger to be told.
// A handler that returns what its sender says at the end has not failed, although its context may end a moment later.
func TestEndIsNoFailure(t *testing.T) {
	var log bytes.Buffer
	hub := listen.NewHub(nil)
	service := &listen.Service{Hub: hub, Logger: slog.New(slog.NewTextHandler(&log, nil)), Handler: listen.HandlerFunc(
		func(_ context.Context, r *listen.Request, p *listen.Pending) error {
			s, err := p.Acknowledge(r.Filter)
			for err == nil {
				err = s.ToolsListChanged()
			}
			return err
		})}
	for n := range 2000 {
		s, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), &counter{})
		if err != nil {
			t.Fatal(err)
		}
		for s.Pending() {
			runtime.Gosched()
		}
		if n%2 == 0 {
			s.Complete()
		}
		s.Cancel()
	}
	if err := hub.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("the log says %.300q", &log)
	}
}

func TestPanicIsLoggedByDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	hub := listen.NewHub(nil)
	service := &listen.Service{Hub: hub, Handler: listen.HandlerFunc(func(context.Context, *listen.Request, *listen.Pending) error { panic("fault") })}
	s, err := service.Open(t.Context(), json.RawMessage(`1`), json.RawMessage(`{"notifications":{}}`), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	s.Cancel()
	if err := hub.Shutdown(t.Context()); err != nil || !strings.Contains(log.String(), "fault") {
		t.Errorf("%v, logged %q", err, &log)
	}
}

// TestSenderOutlivesItsHandler says why nothing is sent.
func TestSenderOutlivesItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *listen.Sender
		notified := make(chan error, 1)
		v := serve(t, `1`, `{"toolsListChanged":true}`, func(_ context.Context, r *listen.Request, p *listen.Pending) (err error) {
			s, err = p.Acknowledge(r.Filter)
			go func() { notified <- s.Notify(context.Background(), "x", nil) }()
			time.Sleep(time.Second)
			return err
		})
		time.Sleep(2 * time.Second)
		is(t, "Notify that waited", <-notified, listen.ErrEnded)
		is(t, "ToolsListChanged", s.ToolsListChanged(), listen.ErrEnded)
		is(t, "Notify", s.Notify(t.Context(), "x", nil), listen.ErrEnded)
		v.says("ack", "result")
		is(t, "ToolsListChanged", s.ToolsListChanged(), listen.ErrEnded)
	})
}
