package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// fake is a server in memory that has resources, tells of them, and does wrong what its fault says. It is the world of the
// probe too.
type fake struct {
	http   bool
	fault  string
	ticker time.Duration // how often it changes something by itself, 0: never
	limit  int           // of the listens of a connection, 0: none

	mu    sync.Mutex
	texts map[string]string
	conns map[*fakeConn]bool
	cut   int // listens that were ended by the client
	ticks int
	looks int // resources that were read since the list was
}

func newFake(http bool, fault string) *fake {
	return &fake{http: http, fault: fault, texts: map[string]string{"a.txt": "a", "b.txt": "b"}, conns: map[*fakeConn]bool{}}
}

// fakeConn is a connection to it.
type fakeConn struct {
	server  *fake
	out     chan wire.Event
	done    chan struct{}
	workers sync.WaitGroup
	listens []*fakeListen // in the order in which they were opened; guarded by the server's mu
	closed  bool          // guarded by the server's mu
}

type fakeListen struct {
	id       json.RawMessage
	honoured filter
}

func (f *fake) dial(_ context.Context, _ wire.Target, receive func(wire.Event)) (wire.Conn, error) {
	if f.fault == "does not start" {
		return nil, errors.New("no such program")
	}
	c := &fakeConn{server: f, out: make(chan wire.Event, 100_000), done: make(chan struct{})}
	f.mu.Lock()
	f.conns[c] = true
	f.mu.Unlock()
	c.workers.Go(func() {
		for e := range c.out {
			if f.fault == "is slow" {
				time.Sleep(20 * time.Millisecond)
			}
			e.At = time.Now()
			receive(e)
		}
	})
	if f.ticker > 0 {
		c.workers.Go(c.tick)
	}
	return c, nil
}

// tick changes something again and again.
func (c *fakeConn) tick() {
	for ticker := time.NewTicker(c.server.ticker); ; {
		select {
		case <-ticker.C:
			c.server.mu.Lock()
			c.server.ticks++
			c.server.texts["a.txt"] = fmt.Sprint("a", c.server.ticks)
			c.tell(Subject{Method: updated, URI: "test://a.txt"})
			c.server.mu.Unlock()
		case <-c.done:
			return
		}
	}
}

// Put is of World.
func (f *fake) Put(name, text string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Subject{Method: updated, URI: "test://" + name}
	if _, there := f.texts[name]; !there {
		s = Subject{Method: resourcesChanged}
	}
	if f.texts[name] = text; f.fault == "changes do not show" {
		delete(f.texts, name)
	}
	for c := range f.conns {
		c.tell(s)
	}
	return nil
}

// Clear is of World.
func (f *fake) Clear() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = nil
	return nil
}

// say sends a message, over HTTP in the answer to a request.
func (c *fakeConn) say(request json.RawMessage, message string) {
	fields := mustMembers([]byte(message))
	m := &wire.Message{Raw: []byte(message), ID: fields["id"], Params: fields["params"], Result: fields["result"]}
	if method, ok := fields["method"]; ok {
		_ = json.Unmarshal(method, &m.Method)
	}
	if fields["error"] != nil {
		m.Error = &jsonrpc.Error{}
		_ = json.Unmarshal(fields["error"], m.Error)
	}
	c.give(wire.Event{Request: request, Message: m})
}

func mustMembers(message []byte) map[string]json.RawMessage {
	fields, err := jsonrpc.Members(message)
	if err != nil {
		panic(err)
	}
	return fields
}

func (c *fakeConn) give(e wire.Event) {
	if !c.server.http {
		e.Request = nil
	}
	if !c.closed {
		c.out <- e
	}
}

func (c *fakeConn) answer(id json.RawMessage, format string, args ...any) {
	c.say(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,`, id)+fmt.Sprintf(format, args...)+`}`)
	if c.server.http {
		c.give(wire.Event{Request: id, End: true})
	}
}

// tooLong answers with more than is taken, in which the id may be seen.
func (c *fakeConn) tooLong(id json.RawMessage, seen bool) {
	fault := &wire.FrameError{Reason: "it is too long", TooLong: true}
	if seen {
		fault.ID = id
	}
	c.give(wire.Event{Request: id, Err: fault})
	if c.server.http {
		c.give(wire.Event{Request: id, End: true, Err: wire.ErrUnanswered})
	}
}

func (c *fakeConn) note(l *fakeListen, method, more string) {
	tag := string(l.id)
	switch c.server.fault {
	case "ids become strings":
		if tag[0] != '"' {
			tag = `"` + tag + `"`
		}
	case "digits are lost":
		if tag == idLarge {
			tag = "9007199254740992"
		}
	case "another's tag":
		tag = string(c.listens[len(c.listens)-1].id)
	}
	meta := fmt.Sprintf(`"_meta":{%q:%s}`, mcp.MetaSubscriptionID, tag)
	if c.server.fault == "untagged" && method != acknowledged {
		meta = `"_meta":{}`
	}
	c.say(l.id, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%s%s}}`, method, meta, more))
}

// tell is called with the server's mu held.
func (c *fakeConn) tell(s Subject) {
	more := ""
	if s.URI != "" {
		more = fmt.Sprintf(`,"uri":%q`, s.URI)
	}
	f := c.server.fault
	if f == "broadcast" && len(c.listens) > 0 && !c.server.http {
		c.say(nil, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"x":1%s}}`, s.Method, more))
	}
	for i, l := range c.listens {
		last := !slices.ContainsFunc(c.listens[i+1:], func(o *fakeListen) bool { return o.honoured.covers(s) })
		switch {
		case f == "unasked" && len(l.honoured.URIs) == 1:
		case !l.honoured.covers(s),
			f == "second silences first" && !last,
			f == "fifty are too many" && i >= fifty,
			f == "list is not told" && s.Method == resourcesChanged,
			f == "updates are not told" && s.Method == updated:
			continue
		}
		c.note(l, s.Method, more)
	}
	if f == "progress" && len(c.listens) > 0 {
		c.note(c.listens[0], progress, "")
	}
}

func (c *fakeConn) Send(_ context.Context, message []byte) error {
	f := c.server
	if f.fault == "says nothing" {
		return nil
	}
	if f.fault == "is slow" {
		time.Sleep(100 * time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m, fault := jsonrpc.Parse(message)
	if fault != nil { // the id of half a megabyte
		c.give(wire.Event{Request: mustMembers(message)["id"], End: true, Err: &wire.StatusError{Status: 400}})
		return nil
	}
	id := m.ID.Raw()
	if f.fault == "slows down" && m.Method == "server/discover" {
		time.Sleep(time.Duration(f.cut) * 10 * time.Millisecond)
	}
	switch m.Method {
	case "server/discover":
		if f.fault == "huge: answer to server/discover" {
			c.tooLong(id, true)
		} else if f.fault == "another time" {
			c.answer(id, `"error":{"code":-32601,"message":"unknown method"}`)
		} else if f.fault != "listens block requests" || len(c.listens) < 10 {
			c.answer(id, `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":%s}}`,
				map[bool]string{true: `{}`, false: `{"listChanged":true,"subscribe":true}`}[f.fault == "declares nothing"])
		}
	case "resources/list":
		f.looks = 0
		var all []string
		for _, name := range slices.Sorted(maps.Keys(f.texts)) {
			all = append(all, fmt.Sprintf(`{"uri":"test://%s","name":%q}`, name, name))
		}
		c.answer(id, `"result":{"resultType":"complete","resources":[%s]}`, strings.Join(all, ","))
	case "resources/read":
		var params struct{ URI string }
		_ = json.Unmarshal(m.Params, &params)
		if f.fault == "reads are not answered" {
			return nil
		}
		if name, huge := strings.CutPrefix(f.fault, "huge: "); huge && strings.HasSuffix(params.URI, "b.txt") {
			c.tooLong(id, name == "id seen")
			return nil
		}
		f.looks++
		text := f.texts[strings.TrimPrefix(params.URI, "test://")]
		if f.fault == "is made anew" || f.fault == "changes after the first look" && f.looks == 1 && params.URI == "test://a.txt" {
			text += fmt.Sprint(f.looks)
		}
		c.answer(id, `"result":{"resultType":"complete","contents":[{"uri":%q,"text":%q}]}`, params.URI, text)
	case listenMethod:
		c.listen(id, m.Params)
	}
	return nil
}

// listen is called with the server's mu held.
func (c *fakeConn) listen(id, params json.RawMessage) {
	f := c.server.fault
	var asked struct{ Notifications json.RawMessage }
	_ = json.Unmarshal(params, &asked)
	honoured, err := parseFilter(asked.Notifications)
	honoured.Tools, honoured.Prompts = f == "unsupported" && honoured.Tools, false
	l := &fakeListen{id: id, honoured: honoured}
	switch {
	case err != nil && f != "malformed is taken", f == "leaks" && c.server.cut > 100:
		c.answer(id, `"error":{"code":-32602,"message":"no"}`)
		return
	case c.server.limit > 0 && len(c.listens) >= c.server.limit:
		c.answer(id, `"error":{"code":-32603,"message":"too many listens are open"}`)
		return
	case f == "no acknowledgement", f == "0 is none" && string(id) == idZero, f == "many are not taken" && len(c.listens) >= 40:
		return
	case f == "refuses" && len(c.listens) == 1:
		c.answer(id, `"error":{"code":-32600,"message":"there is one"}`)
		return
	}
	if f == "acknowledgement is overtaken" && honoured.Resources {
		c.note(l, resourcesChanged, "")
	}
	granted := honoured
	granted.Tools = granted.Tools || f == "grants more" && !granted.Resources
	text, _ := json.Marshal(granted)
	c.listens = append(c.listens, l)
	c.note(l, acknowledged, `,"notifications":`+string(text))
	if f == "acknowledges twice" {
		c.note(l, acknowledged, `,"notifications":`+string(text))
	}
	if f == "ends at once" || granted.isEmpty() {
		c.end(l)
	}
	switch f {
	case "garbage":
		c.give(wire.Event{Request: id, Err: &wire.FrameError{Reason: "not valid JSON"}})
	case "asks":
		c.say(id, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	}
}

func (c *fakeConn) end(l *fakeListen) {
	tag := fmt.Sprintf(`,"_meta":{%q:%s}`, mcp.MetaSubscriptionID, l.id)
	if c.server.fault == "completion without id" {
		tag = ""
	}
	c.answer(l.id, `"result":{"resultType":"complete"%s}`, tag)
	c.listens = slices.DeleteFunc(c.listens, func(o *fakeListen) bool { return o == l })
}

func (c *fakeConn) Cancel(_ context.Context, id json.RawMessage) error {
	f := c.server
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(c.listens, func(l *fakeListen) bool {
		if f.fault == "cancels go by print" && string(id) == idNumber {
			return string(l.id) == idString
		}
		return string(l.id) == string(id)
	})
	if at < 0 {
		if f.fault == "unknown cancel is answered" {
			c.say(nil, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown"}}`, id))
		}
		return nil
	}
	f.cut++
	l := c.listens[at]
	switch f.fault {
	case "talks on":
	case "answers after cancel", "cancels go by print":
		c.end(l)
	case "cancel ends all":
		c.listens = nil
	default:
		c.listens = slices.Delete(c.listens, at, at+1)
	}
	return nil
}

func (c *fakeConn) Follow(context.Context) error { return nil }

func (c *fakeConn) Close(context.Context) (err error) {
	f := c.server
	f.mu.Lock()
	if !f.http && f.fault != "no completion" {
		for _, l := range slices.Clone(c.listens) {
			c.end(l)
		}
	}
	c.give(wire.Event{End: true})
	if f.fault == "stays" {
		err = wire.ErrForced
	}
	c.closed = true
	delete(f.conns, c)
	close(c.out)
	close(c.done)
	f.mu.Unlock()
	c.workers.Wait()
	return err
}
