package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// client speaks the modern revision of MCP over one pair of pipes. Answers go to the calls they belong to; what the
// listens say comes out of notices in the order of arrival.
//
// The taker of notices must not wait for a call, directly or not: the reader hands over a notice before it reads the
// answer behind it.
type client struct {
	out     io.Writer
	outLock sync.Mutex  // serialises messages to out
	notices chan notice // closed by read when the input ends

	mu      sync.Mutex // guards the fields below
	lastID  int64
	waiting map[int64]chan answer // room for the one answer; closed by nobody
	listens map[int64]bool        // open listens, by the id of their request
	ended   error                 // why no answer will come any more; nil while one may
}

// notice is one thing a listen said.
type notice struct {
	listen int64 // id of the listen
	kind   noticeKind
	uri    string        // of noticeUpdated
	filter listen.Filter // of noticeAcknowledged: what the server honours
	err    error         // of noticeEnded: the error it was answered with, nil after a completion
}

type noticeKind int

const (
	noticeAcknowledged noticeKind = iota
	noticeUpdated
	noticeListChanged
	noticeEnded
)

type answer struct {
	result json.RawMessage
	err    error
}

// incoming is any message a server may send.
type incoming struct {
	ID     *int64
	Method string
	Params struct {
		Meta          map[string]json.RawMessage `json:"_meta"`
		URI           string
		Notifications listen.Filter
	}
	Result json.RawMessage
	Error  *jsonrpc.Error
}

// errServerEnded reports that the server has closed its output; why is for its process to tell.
var errServerEnded = errors.New("server ended")

func newClient(out io.Writer) *client {
	return &client{out: out, notices: make(chan notice), waiting: map[int64]chan answer{}, listens: map[int64]bool{}}
}

// read takes messages from in until it ends, which is no error, or until one makes no sense. It closes notices.
func (c *client) read(in io.Reader) (err error) {
	defer close(c.notices)
	defer func() { c.end(err) }()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var m incoming
			if err := json.Unmarshal(line, &m); err != nil {
				return fmt.Errorf("the server sent what is no message: %.100q", bytes.TrimSpace(line))
			}
			c.take(&m)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// end fails the calls that wait and all to come.
func (c *client) end(broken error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = errServerEnded
	if broken != nil {
		c.ended = broken
	}
	for _, ch := range c.waiting {
		ch <- answer{err: c.ended}
	}
	clear(c.waiting)
}

// why tells why no answer will come any more, nil while one may.
func (c *client) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// take routes one message. What belongs to no open call or listen is ignored: it may have crossed its end.
func (c *client) take(m *incoming) {
	if m.Method != "" {
		c.takeNotification(m)
		return
	}
	if m.ID == nil {
		return
	}
	a := answer{result: m.Result}
	if m.Error != nil {
		a.err = m.Error
	}
	c.mu.Lock()
	ch := c.waiting[*m.ID]
	delete(c.waiting, *m.ID)
	listens := c.listens[*m.ID]
	delete(c.listens, *m.ID)
	c.mu.Unlock()
	if ch != nil {
		ch <- a
	}
	if listens {
		c.notices <- notice{listen: *m.ID, kind: noticeEnded, err: a.err}
	}
}

func (c *client) takeNotification(m *incoming) {
	var s notice
	if json.Unmarshal(m.Params.Meta[mcp.MetaSubscriptionID], &s.listen) != nil {
		return
	}
	c.mu.Lock()
	open := c.listens[s.listen]
	c.mu.Unlock()
	if !open {
		return
	}
	switch m.Method {
	case "notifications/subscriptions/acknowledged":
		s.kind, s.filter = noticeAcknowledged, m.Params.Notifications
	case "notifications/resources/updated":
		s.kind, s.uri = noticeUpdated, m.Params.URI
	case "notifications/resources/list_changed":
		s.kind = noticeListChanged
	default:
		return
	}
	c.notices <- s
}

// call sends a request and waits for its answer, which it decodes into result.
func (c *client) call(ctx context.Context, method string, params map[string]any, result any) error {
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.ended != nil {
		defer c.mu.Unlock()
		return c.ended
	}
	c.lastID++
	id := c.lastID
	c.waiting[id] = ch
	c.mu.Unlock()
	if err := c.send(id, method, params); err != nil {
		return err
	}
	select {
	case a := <-ch:
		if a.err != nil {
			return fmt.Errorf("%s: %w", method, a.err)
		}
		if err := json.Unmarshal(a.result, result); err != nil {
			return fmt.Errorf("%s: answer: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve gives out the id of a listen to come, so that whoever takes the notices can know it before the first one.
func (c *client) reserve() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	c.listens[c.lastID] = true
	return c.lastID
}

// listen asks for the listen with a reserved id; what becomes of it comes out of notices.
func (c *client) listen(id int64, filter listen.Filter) error {
	return c.send(id, "subscriptions/listen", map[string]any{"notifications": filter})
}

// cancel ends a listen; nothing it says afterwards comes out of notices.
func (c *client) cancel(id int64) error {
	c.mu.Lock()
	delete(c.listens, id)
	c.mu.Unlock()
	return c.write(map[string]any{
		"jsonrpc": "2.0",
		"method":  "notifications/cancelled",
		"params":  map[string]any{"requestId": id, "_meta": requestMeta()},
	})
}

func (c *client) send(id int64, method string, params map[string]any) error {
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = requestMeta()
	return c.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// requestMeta is what every modern request carries (basic/index, "_meta").
func requestMeta() map[string]any {
	return map[string]any{
		mcp.MetaProtocolVersion:    mcp.Modern,
		mcp.MetaClientInfo:         mcp.Implementation{Name: "mcp-fsserve-listen", Version: programVersion()},
		mcp.MetaClientCapabilities: struct{}{},
	}
}

func (c *client) write(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	c.outLock.Lock()
	defer c.outLock.Unlock()
	if _, err = c.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%w: %v", errServerEnded, err)
	}
	return nil
}
