package storm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// host is a client that behaves as hosts do: it lists again when it is told that the list changed, and reads again what it is
// told was updated. It knows nothing else.
type host struct {
	in   io.Writer
	base string // of the URIs
	root string // of the paths

	mu      sync.Mutex // guards what follows
	lastID  int
	waiting map[int]chan answer // room for the one answer; closed by nobody
	listens map[int]*listen
	faults  []string // what the server may not say
	busy    bool     // it lists or reads
	ended   bool
	wake    chan struct{} // 1-buffered, never closed
	done    chan struct{} // closed when the server's output has ended
}

// listen is what one listen asked for, and what is known from what it said.
type listen struct {
	id    int
	subs  map[string]*sub // by URI
	lists bool
	acked chan struct{} // closed when it is acknowledged

	list      []string // as last walked
	stale     bool
	listTold  int // list_changed in this round
	listTotal int
}

// sub is one subscription.
type sub struct {
	path   string
	folder bool // the URI ends in a slash
	stale  bool
	view   string // what the last read gave
	seen   glance // the file when it was last told of
	last   time.Time
	told   int // in this round
	total  int
}

// glance is the disk at the moment a notification arrived.
type glance struct {
	there       bool
	ino         uint64
	size, mtime int64
}

type answer struct {
	result json.RawMessage
	code   int
}

func newHost(p *program, root string) *host {
	h := &host{in: p.in, base: "file://" + root + "/", root: root,
		waiting: map[int]chan answer{}, listens: map[int]*listen{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go h.hear(p.out)
	go h.work()
	return h
}

// escape spells a path as the server does.
func escape(rel string) string {
	var b strings.Builder
	for i := range len(rel) {
		c := rel[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func (h *host) uri(rel string) string { return h.base + escape(rel) }

func (h *host) glance(rel string) (g glance) {
	fi, err := os.Stat(h.root + "/" + rel)
	if err != nil {
		return glance{}
	}
	st := fi.Sys().(*syscall.Stat_t)
	return glance{fi.Mode().IsRegular(), st.Ino, st.Size, fi.ModTime().UnixNano()}
}

func (h *host) faultLocked(format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

func (h *host) hear(out io.Reader) {
	defer close(h.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID     *int
			Method string
			Params struct {
				URI           string
				Meta          map[string]any `json:"_meta"`
				Notifications struct {
					ResourcesListChanged  bool
					ResourceSubscriptions []string
				}
			}
			Result json.RawMessage
			Error  *struct{ Code int }
		}
		now := time.Now()
		h.mu.Lock()
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			h.faultLocked("no message: %.200q", lines.Text())
		} else if m.Method == "" && m.ID != nil {
			if ch := h.waiting[*m.ID]; ch != nil {
				a := answer{result: m.Result}
				if m.Error != nil {
					a.code = m.Error.Code
				}
				ch <- a
				delete(h.waiting, *m.ID)
			} else if l := h.listens[*m.ID]; l == nil || !h.ended {
				h.faultLocked("an answer to nothing: %.200q", lines.Text())
			}
		} else {
			id, _ := m.Params.Meta["io.modelcontextprotocol/subscriptionId"].(float64)
			l := h.listens[int(id)]
			switch {
			case l == nil:
				h.faultLocked("a notification for no listen: %.200q", lines.Text())
			case m.Method == "notifications/subscriptions/acknowledged":
				if len(m.Params.Notifications.ResourceSubscriptions) != len(l.subs) || m.Params.Notifications.ResourcesListChanged != l.lists {
					h.faultLocked("listen %d: acknowledged %.500q", l.id, lines.Text())
				}
				close(l.acked)
			case m.Method == "notifications/resources/list_changed":
				if l.listTold, l.stale = l.listTold+1, true; !l.lists {
					h.faultLocked("listen %d was told of the list", l.id)
				}
				l.listTotal++
			case m.Method == "notifications/resources/updated":
				s := l.subs[m.Params.URI]
				if s == nil {
					h.faultLocked("listen %d was told of %s", l.id, m.Params.URI)
					break
				}
				s.stale, s.told, s.total, s.last, s.seen = true, s.told+1, s.total+1, now, h.glance(s.path)
			default:
				h.faultLocked("what is this: %.200q", lines.Text())
			}
		}
		h.mu.Unlock()
		h.rouse()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.waiting {
		ch <- answer{code: 1}
	}
	if !h.ended {
		h.faultLocked("the server's output ended")
	}
	h.ended = true
	clear(h.waiting)
}

func (h *host) rouse() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *host) send(id int, method string, params map[string]any) {
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "storm", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": struct{}{},
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	_, _ = h.in.Write(append(line, '\n')) // one write, so that callers need no lock; hear notices when nobody reads
}

// call returns the result, or the code of an error.
func (h *host) call(method string, params map[string]any, result any) (code int) {
	ch := make(chan answer, 1)
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return 1
	}
	h.lastID++
	id := h.lastID
	h.waiting[id] = ch
	h.mu.Unlock()
	h.send(id, method, params)
	var a answer
	select {
	case a = <-ch:
	case <-time.After(patience):
		h.fault("%s %v: no answer within %v", method, params["uri"], patience)
		return 1
	}
	if a.code != 0 {
		return a.code
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		h.fault("%s: %v", method, err)
	}
	return 0
}

func (h *host) fault(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faultLocked(format, args...)
}

// walk returns the list, over all pages.
func (h *host) walk() (uris []string) {
	params := map[string]any{}
	for {
		var page struct {
			Resources  []struct{ URI string }
			NextCursor string
		}
		if code := h.call("resources/list", params, &page); code != 0 {
			h.fault("resources/list was answered with error %d", code)
			return uris
		}
		for _, r := range page.Resources {
			uris = append(uris, r.URI)
		}
		if page.NextCursor == "" {
			return uris
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
}

// read returns what a read gives, in one string.
func (h *host) read(uri string) string {
	var result struct {
		Contents []struct {
			URI, Text, MIMEType string
			Blob                []byte
		}
	}
	if code := h.call("resources/read", map[string]any{"uri": uri}, &result); code != 0 {
		return fmt.Sprintf("error %d", code)
	}
	if len(result.Contents) != 1 || result.Contents[0].URI != uri {
		h.fault("read %s: %+v", uri, result)
		return ""
	}
	c := result.Contents[0]
	if c.MIMEType == "text/uri-list" {
		names := strings.Split(strings.TrimSuffix(c.Text, "\r\n"), "\r\n")
		slices.Sort(names)
		return "directory " + strings.TrimSpace(strings.Join(names, " "))
	}
	return "file " + c.Text + string(c.Blob)
}

// open opens a listen and, once it is acknowledged, lists and reads what it is about.
func (h *host) open(lists bool, paths []string) (*listen, error) {
	l := &listen{lists: lists, subs: map[string]*sub{}, acked: make(chan struct{})}
	filter := map[string]any{}
	uris := []string{}
	for _, p := range paths {
		s := &sub{path: strings.TrimSuffix(p, "/"), folder: strings.HasSuffix(p, "/")}
		l.subs[h.uri(p)] = s
		uris = append(uris, h.uri(p))
	}
	if lists {
		filter["resourcesListChanged"] = true
	}
	filter["resourceSubscriptions"] = uris
	h.mu.Lock()
	h.lastID++
	l.id = h.lastID
	h.listens[l.id] = l
	h.mu.Unlock()
	h.send(l.id, "subscriptions/listen", map[string]any{"notifications": filter})
	select {
	case <-l.acked:
	case <-time.After(patience):
		return nil, fmt.Errorf("a listen is not acknowledged")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l.stale = lists
	for _, s := range l.subs {
		s.seen, s.stale = h.glance(s.path), true
	}
	h.rouse()
	return l, nil
}

// work does what the notifications ask for.
func (h *host) work() {
	for {
		select {
		case <-h.done:
			return
		case <-h.wake:
		}
		for h.chore() {
		}
	}
}

// chore does one thing that is to be done, if there is any.
func (h *host) chore() bool {
	h.mu.Lock()
	h.busy = false
	for _, l := range h.listens {
		if l.stale && l.lists {
			l.stale, h.busy = false, true
			h.mu.Unlock()
			list := h.walk()
			h.mu.Lock()
			l.list = list
			h.mu.Unlock()
			return true
		}
		for uri, s := range l.subs {
			if s.stale {
				s.stale, h.busy = false, true
				h.mu.Unlock()
				view := h.read(uri)
				h.mu.Lock()
				s.view = view
				h.mu.Unlock()
				return true
			}
		}
	}
	h.mu.Unlock()
	return false
}

// idleLocked reports whether nothing is to be done.
func (h *host) idleLocked() bool {
	if h.busy {
		return false
	}
	for _, l := range h.listens {
		if l.stale && l.lists {
			return false
		}
		for _, s := range l.subs {
			if s.stale {
				return false
			}
		}
	}
	return true
}

// cancel ends a listen. It must be silent once the server has read of that, which it has when it answers to what was sent
// afterwards.
func (h *host) cancel(id int) {
	params := map[string]any{"requestId": id, "_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
	if err != nil {
		panic(err)
	}
	_, _ = h.in.Write(append(line, '\n'))
	h.call("server/discover", map[string]any{}, &struct{}{})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listens, id)
}
