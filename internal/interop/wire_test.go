package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry is what the witness says: a line that passed, a status that came without one, or the end of the server.
type entry struct {
	From string `json:"from"`
	Line string `json:"line"`
	HTTP string `json:"http"`
	Exit *int   `json:"exit"`

	message // of a client or a server
}

// message is a line of the protocol, as far as the tests look into it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		URI             string          `json:"uri"`
		ProtocolVersion string          `json:"protocolVersion"`
		RequestID       json.RawMessage `json:"requestId"`
		Meta            meta            `json:"_meta"`
		Notifications   filter          `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type meta struct {
	ProtocolVersion string          `json:"io.modelcontextprotocol/protocolVersion"`
	SubscriptionID  json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
}

// filter is what a listen asks for, and what its acknowledgement grants.
type filter struct {
	ListChanged bool     `json:"resourcesListChanged"`
	URIs        []string `json:"resourceSubscriptions"`
}

func (e *entry) isRequest() bool  { return e.From == "client" && e.Method != "" && e.ID != nil }
func (e *entry) isResponse() bool { return e.From == "server" && e.Method == "" && e.Line != "" }
func (e *entry) isChange() bool {
	return e.From == "server" &&
		(e.Method == "notifications/resources/updated" || e.Method == "notifications/resources/list_changed")
}

// wire is the record of one process: all that passed between it and its client.
type wire struct {
	socket string
	said   journal[entry]
	closed chan struct{} // closed when the witness has said everything
}

// newWire returns a wire on which the first witness to be started with its socket reports.
func newWire(t *testing.T) *wire {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // t.TempDir can be too long for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &wire{socket: filepath.Join(dir, "s"), closed: make(chan struct{})}
	listener, err := net.Listen("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.closed)
		conn, err := listener.Accept()
		if err != nil {
			return // the test has ended without a witness
		}
		defer conn.Close()
		lines := bufio.NewReader(conn)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			w.said.add(parse(t, line))
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-w.closed
	})
	return w
}

func parse(t *testing.T, line []byte) entry {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		t.Errorf("the witness said %q: %v", line, err)
	}
	if e.Line != "" && (e.From == "client" || e.From == "server") {
		if err := json.Unmarshal([]byte(e.Line), &e.message); err != nil {
			t.Errorf("the %s wrote %q: %v", e.From, e.Line, err)
		}
	}
	return e
}

// listens follows the subscriptions of a record in either revision's way.
type listens struct {
	asked  map[string]filter // listens and subscriptions without their answer yet, by id
	open   map[string]filter // those that hold, by id; legacy ones by URI
	ended  []string          // ids of the listens that the client cancelled
	undone map[string]string // legacy: the URI of each unsubscribe without its answer yet, by id
}

func follow(said []entry) *listens {
	l := &listens{asked: map[string]filter{}, open: map[string]filter{}, undone: map[string]string{}}
	for _, e := range said {
		id := string(e.ID)
		switch {
		case e.From == "client" && e.Method == "subscriptions/listen":
			l.asked[id] = e.Params.Notifications
		case e.From == "client" && e.Method == "resources/subscribe":
			l.asked[id] = filter{URIs: []string{e.Params.URI}}
		case e.From == "client" && e.Method == "resources/unsubscribe":
			l.undone[id] = e.Params.URI
		case e.From == "client" && e.Method == "notifications/cancelled":
			l.cancel(string(e.Params.RequestID))
		case e.From == "server" && e.Method == "notifications/subscriptions/acknowledged":
			id := string(e.Params.Meta.SubscriptionID)
			delete(l.asked, id)
			l.open[id] = e.Params.Notifications
		case e.isResponse():
			l.answer(id)
		}
	}
	return l
}

func (l *listens) cancel(id string) {
	if _, open := l.open[id]; open {
		l.ended = append(l.ended, id)
	}
	delete(l.asked, id)
	delete(l.open, id)
}

// answer takes in a response: to a subscribe, an unsubscribe, a listen that has ended, or to something else.
func (l *listens) answer(id string) {
	if f, subscribed := l.asked[id]; subscribed {
		delete(l.asked, id)
		l.open[f.URIs[0]] = f
	}
	if uri, unsubscribed := l.undone[id]; unsubscribed {
		delete(l.undone, id)
		delete(l.open, uri)
	}
}

// settled returns the URIs that hold, in order, and whether every question has been answered. It is not settled either
// while two listens are open for the list, of which the client is about to cancel one.
func (l *listens) settled() (uris []string, settled bool) {
	lists := 0
	for _, f := range l.open {
		uris = append(uris, f.URIs...)
		if f.ListChanged {
			lists++
		}
	}
	slices.Sort(uris)
	return uris, len(l.asked) == 0 && len(l.undone) == 0 && lists <= 1
}

// awaitWatched waits until exactly these URIs hold.
func (w *wire) awaitWatched(ctx context.Context, uris ...string) error {
	want := slices.Sorted(slices.Values(uris))
	_, err := w.said.await(ctx, func(said []entry) bool {
		got, settled := follow(said).settled()
		return settled && slices.Equal(got, want)
	})
	return err
}

// awaitRead waits for the answer to the first read of uri, and returns the length of the record up to it.
func (w *wire) awaitRead(ctx context.Context, uri string) (length int, err error) {
	_, err = w.said.await(ctx, func(said []entry) bool {
		asked := slices.IndexFunc(said, func(e entry) bool { return e.Method == "resources/read" && e.Params.URI == uri })
		length = 1 + slices.IndexFunc(said, func(e entry) bool {
			return asked >= 0 && e.isResponse() && string(e.ID) == string(said[asked].ID)
		})
		return length > 0
	})
	return length, err
}

// checkEnd checks how the process has ended, for which it waits, and returns the whole record.
func (w *wire) checkEnd(ctx context.Context, t *testing.T) []entry {
	t.Helper()
	select {
	case <-w.closed:
	case <-ctx.Done():
		t.Fatal("the process goes on")
	}
	said, _ := w.said.all()
	if len(said) == 0 || said[len(said)-1].Exit == nil {
		t.Fatal("the witness was killed: the server had not ended in the time that the client gave it")
	}
	if status := *said[len(said)-1].Exit; status != 0 {
		t.Errorf("the server ended with status %d", status)
	}
	for _, e := range said {
		if e.From == "stderr" {
			t.Errorf("the server wrote to standard error: %s", e.Line)
		}
	}
	return said
}

// checkAnswers checks that each request has one answer, but for the listens, of which the cancelled ones have none.
func checkAnswers(t *testing.T, said []entry) {
	t.Helper()
	answers := map[string]int{}
	for _, e := range said {
		if e.isResponse() {
			answers[string(e.ID)]++
		}
	}
	ended := follow(said).ended
	for _, e := range said {
		if !e.isRequest() {
			continue
		}
		n := answers[string(e.ID)]
		switch {
		case slices.Contains(ended, string(e.ID)):
			if n != 0 {
				t.Errorf("a cancelled listen was answered: %s", e.Line)
			}
		case e.Method == "subscriptions/listen":
			// How it ends at the end of input is a race of its cancel with that end.
		case n != 1:
			t.Errorf("%d answers to %s", n, e.Line)
		}
	}
}

// checkRefusals checks that the one read of what is not there was refused, as version demands, and nothing else.
func checkRefusals(t *testing.T, version string, said []entry) {
	t.Helper()
	want := -32002
	if version == modern {
		want = -32602
	}
	refused := 0
	for _, e := range said {
		if e.Error == nil {
			continue
		}
		refused++
		if e.Error.Code != want || !strings.Contains(e.Error.Message, "resource not found") {
			t.Errorf("the server refused something: %s", e.Line)
		}
	}
	if refused != 1 {
		t.Errorf("%d requests were refused, want the read of what is not there", refused)
	}
}

// checkPages checks that the list came in three pages, each of the three times that the walk asks for it.
func checkPages(t *testing.T, said []entry) {
	t.Helper()
	pages := 0
	for _, e := range said {
		if e.Method == "resources/list" {
			pages++
		}
	}
	if pages != 9 {
		t.Errorf("the list came in %d pages", pages)
	}
}

// checkModern checks that the whole record is of the 2026-07-28 revision.
func checkModern(t *testing.T, version string, said []entry) {
	t.Helper()
	for i, e := range said {
		switch {
		case i == 0 && e.Method != "server/discover":
			t.Errorf("the client opened with %s", e.Line)
		case e.isRequest() && e.Params.Meta.ProtocolVersion != version:
			t.Errorf("a request of another revision: %s", e.Line)
		case e.Method == "initialize", e.Method == "resources/subscribe":
			t.Errorf("not of this revision: %s", e.Line)
		case e.isChange() && e.Params.Meta.SubscriptionID == nil:
			t.Errorf("a change without the listen it is for: %s", e.Line)
		}
	}
}

// checkLegacy checks that the whole record is of one of the revisions that open with a handshake.
func checkLegacy(t *testing.T, version string, said []entry) {
	t.Helper()
	for i, e := range said {
		switch {
		case i == 0 && (e.Method != "initialize" || e.Params.ProtocolVersion != version):
			t.Errorf("the client opened with %s", e.Line)
		case e.From == "client" && e.Params.Meta.ProtocolVersion != "",
			e.Method == "server/discover", e.Method == "subscriptions/listen", e.Params.Meta.SubscriptionID != nil:
			t.Errorf("not of this revision: %s", e.Line)
		}
		if i > 0 && said[0].ID != nil && e.isResponse() && string(e.ID) == string(said[0].ID) {
			var result struct {
				ProtocolVersion string `json:"protocolVersion"`
			}
			if err := json.Unmarshal(e.Result, &result); err != nil || result.ProtocolVersion != version {
				t.Errorf("the handshake ended with %s", e.Line)
			}
		}
	}
}
