package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// answering are options with a handler.
func answering(f listen.HandlerFunc) *Options { return &Options{Listen: f} }

// augmenting honours what the server does, and an extension of its own, which it tells of when it is rung.
func augmenting(rung <-chan struct{}) listen.HandlerFunc {
	return func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		honoured, err := p.Builtin(ctx, listen.Filter{
			ResourcesListChanged: r.Filter.ResourcesListChanged, ResourceSubscriptions: r.Filter.ResourceSubscriptions,
		})
		if err != nil {
			return err
		}
		honoured.Extensions = r.Filter.Extensions
		s, err := p.Acknowledge(honoured)
		if err != nil {
			return err
		}
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-rung:
				if err := s.Notify(ctx, "ext/rung", map[string]int{"times": 1}); err != nil {
					return err
				}
			}
		}
	}
}

func rang(id string) string {
	return `{"jsonrpc":"2.0","method":"ext/rung","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"times":1}}`
}

func TestHandlerOnAPipe(t *testing.T) {
	rung := make(chan struct{})
	serveInBubble := func(f func(t *testing.T, c *client)) {
		synctest.Test(t, func(t *testing.T) {
			rung = make(chan struct{})
			c := connect(t, answering(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				return augmenting(rung)(ctx, r, p)
			}), newFakeCatalogue())
			f(t, c)
			c.close()
			if err := c.hub.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	serveInBubble(func(t *testing.T, c *client) {
		c.send(listenTo(`"\u0031"`, onlyA+`,"bell":{"loud": true},"toolsListChanged":true`))
		c.raw(acknowledged(`"\u0031"`, onlyA+`,"bell":{"loud":true}`))
		rung <- struct{}{}
		c.raw(rang(`"\u0031"`))
		c.hub.Publish(listen.Change{Keys: []string{a, b}, List: true})
		c.raw(updated(`"\u0031"`, a))
		c.send(cancel(`"1"`))
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.nothing()
		select {
		case rung <- struct{}{}:
			t.Error("the handler goes on")
		default:
		}
		c.send(listenTo("1", onlyA))
		c.raw(acknowledged("1", onlyA))
		c.close()
		c.raw(completed("1"))
	})
}

// TestHandlerThatIsSlowOnAPipe holds up nothing, and says nothing when it is cancelled.
func TestHandlerThatIsSlowOnAPipe(t *testing.T) {
	serveWith(t, answering(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
		}
		_, err := p.Acknowledge(r.Filter)
		return err
	}), newFakeCatalogue, func(t *testing.T, c *client) {
		var listens []string
		for i := range 200 { // more than may be worked on at a time
			listens = append(listens, listenTo(fmt.Sprint(i+1), onlyA))
		}
		c.send(listens...)
		c.nothing()
		if got := c.ask(modern("0", "server/discover", "")); got.Error != nil {
			t.Errorf("got %s", got.raw)
		}
		for i := range 199 {
			c.send(cancel(fmt.Sprint(i + 1)))
		}
		c.nothing()
		c.close()
		c.raw(acknowledged("200", ""), completed("200"))
	})
}

func TestHandlerRefusesOnAPipe(t *testing.T) {
	acknowledges := false
	serveWith(t, answering(func(_ context.Context, r *listen.Request, p *listen.Pending) error {
		if acknowledges {
			s, err := p.Acknowledge(r.Filter)
			if err != nil {
				return err
			}
			_ = s.Updated(a)
		}
		return listen.InvalidParams("no")
	}), newFakeCatalogue, func(t *testing.T, c *client) {
		for range 2 { // its id is free afterwards
			c.ask(listenTo("1", onlyA)).wantError(t, "1", -32602, "invalid params: no")
		}
		acknowledges = true
		for range 2 {
			c.send(listenTo("1", onlyA))
			got := c.frames()
			if len(got) != 3 || got[0].raw != acknowledged("1", onlyA) || got[1].raw != updated("1", a) {
				t.Fatalf("got %q", raws(got))
			}
			got[2].wantError(t, "1", -32602)
		}
	})
}

// TestNotifyWhileTheReaderStalls waits, and is over with a cancellation.
func TestNotifyWhileTheReaderStalls(t *testing.T) {
	outcome := make(chan error, 1)
	var sent int
	serveWith(t, answering(func(_ context.Context, r *listen.Request, p *listen.Pending) error {
		s, err := p.Acknowledge(r.Filter)
		for err == nil {
			err = s.Notify(context.Background(), "ext/flood", map[string]string{"x": strings.Repeat("x", 1000)})
			sent++
		}
		outcome <- err
		return err
	}), newFakeCatalogue, func(t *testing.T, c *client) {
		stall := make(chan struct{})
		c.out.setStall(stall)
		c.send(listenTo("1", ""))
		if len(outcome) > 0 || sent > 2*burst/1000 {
			t.Errorf("%d were sent to a reader that stalls", sent)
		}
		c.send(cancel("1"))
		if err := <-outcome; err != listen.ErrCancelled {
			t.Errorf("Notify: %v", err)
		}
		c.out.setStall(nil)
		close(stall)
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{a}})
		c.nothing()
	})
}

func TestSessionsDoNotComeToTheHandler(t *testing.T) {
	serveWith(t, answering(func(context.Context, *listen.Request, *listen.Pending) error { panic("asked") }), newFakeCatalogue, func(t *testing.T, c *client) {
		c.send(initialize("0", "2025-11-25"), legacy("1", "resources/subscribe", `"uri":"`+a+`"`))
		c.frames()
		c.hub.Publish(listen.Change{Keys: []string{a}})
		if got := c.only(); got.Method != "notifications/resources/updated" {
			t.Errorf("got %s", got.raw)
		}
	})
}

func TestHandlerOverHTTP(t *testing.T) {
	rung, ended := make(chan struct{}), make(chan error, 1)
	w := startWeb(t, answering(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		if ctx.Value(http.LocalAddrContextKey) == nil {
			t.Error("the context has not the values of the request's")
		}
		err := augmenting(rung)(ctx, r, p)
		ended <- context.Cause(ctx)
		return err
	}), nil)
	e := w.listen(`"1"`, `"resourcesListChanged":true,"bell":true`)
	rung <- struct{}{}
	e.raw(rang(`"1"`))
	w.hub.Publish(listen.Change{List: true})
	e.raw(listChanged(`"1"`))
	e.close()
	if err := <-ended; err != listen.ErrCancelled {
		t.Errorf("the handler's context ended with %v", err)
	}
	e = w.listen("2", "")
	w.shutdown()
	e.raw(completed("2"))
	e.end()
	if err := <-ended; err != listen.ErrShutdown {
		t.Errorf("the handler's context ended with %v", err)
	}
}

// TestRefusalsOfAHandlerOverHTTP have a status of their own.
func TestRefusalsOfAHandlerOverHTTP(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   int
	}{
		{listen.InvalidParams("no"), 400, -32602},
		{fmt.Errorf("wrapped: %w", &listen.Error{Code: -32601, Message: "no listens"}), 404, -32601},
		{&listen.Error{Code: -32603, Message: "the queue is down"}, 500, -32603},
		{&listen.Error{Code: -32099, Message: "m"}, 400, -32099},
		{errors.New("odd"), 500, -32603},
		{listen.ErrTooManyStreams, 503, -32603},
	} {
		inBubble(t, answering(func(context.Context, *listen.Request, *listen.Pending) error {
			time.Sleep(time.Second)
			return c.err
		}), nil, func(t *testing.T, w *web) {
			w.post(listenTo(`"x"`, onlyA)).wantError(t, c.status, `"x"`, c.code)
		})
	}
}

// TestHandlerThatIsSlowOverHTTP gets no more time for a status than any stream is silent.
func TestHandlerThatIsSlowOverHTTP(t *testing.T) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	for _, protocols := range []http.Protocols{{}, protocols} {
		for name, wait := range map[string]time.Duration{"refused": 20 * time.Minute, "acknowledged": 2 * time.Minute} {
			opts := &HTTPOptions{Keepalive: time.Minute, WriteTimeout: time.Second}
			inBubbleSpeaking(t, &protocols, answering(func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
				time.Sleep(wait)
				if name == "refused" {
					return listen.InvalidParams("no")
				}
				_, err := p.Acknowledge(r.Filter)
				return err
			}), opts, func(t *testing.T, w *web) {
				begun := time.Now()
				e := w.stream(http.MethodPost, listenTo("1", ""))
				if took := time.Since(begun); took != time.Minute {
					t.Errorf("the stream has begun after %v", took)
				}
				if name == "acknowledged" {
					e.raw(acknowledged("1", ""), completed("1"))
				} else if frame, ok := e.next(); !ok || !strings.Contains(frame, `"id":1,"error":{"code":-32602`) {
					t.Errorf("got %s", frame)
				}
				e.end()
			})
		}
	}
}

// TestClientLeavesBeforeTheAcknowledgement ends the handler's context, at once.
func TestClientLeavesBeforeTheAcknowledgement(t *testing.T) {
	var ended chan error
	inBubble(t, answering(func(ctx context.Context, _ *listen.Request, _ *listen.Pending) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	}), nil, func(t *testing.T, w *web) {
		begun := time.Now()
		ended = make(chan error, 1)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := w.client.Do(w.request(ctx, http.MethodPost, listenTo("1", onlyA))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("answered: %v", err)
		}
		if err, took := <-ended, time.Since(begun); err != listen.ErrCancelled || took != time.Second {
			t.Errorf("the handler's context ended after %v, with %v", took, err)
		}
	})
}

// TestShutdownWhileAHandlerIsSlow answers the listen.
func TestShutdownWhileAHandlerIsSlow(t *testing.T) {
	inBubble(t, answering(func(ctx context.Context, _ *listen.Request, _ *listen.Pending) error {
		<-ctx.Done()
		return nil
	}), nil, func(t *testing.T, w *web) {
		go func() {
			time.Sleep(time.Second)
			w.shutdown()
		}()
		e := w.stream(http.MethodPost, listenTo("1", onlyA))
		e.raw(acknowledged("1", ""), completed("1"))
		e.end()
		if err := w.hub.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
