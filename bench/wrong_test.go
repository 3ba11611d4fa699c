package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answering is a server over HTTP in this process, as if it were a child.
func answering(t *testing.T, handler http.HandlerFunc) (*child, *url.URL) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	endpoint, err := url.Parse(server.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &child{name: "wrong", url: endpoint.String(), command: &exec.Cmd{Process: self}}, endpoint
}

// contents is an answer to a read, whose text is as encoding/json writes it.
func contents(text []byte) string {
	said, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"contents": []any{map[string]any{"text": string(text)}}}})
	if err != nil {
		panic(err)
	}
	return string(said)
}

// A server that answers well when it is looked at, and then otherwise, is not measured.
func TestAServerThatAnswersWrongLaterIsNotMeasured(t *testing.T) {
	d := demands[1]
	right := contents(smallContent)
	for what, later := range map[string]string{
		"refuses":         `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no more"}}`,
		"leaves out some": contents(smallContent[1:]),
	} {
		var answers atomic.Int64
		ch, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			if answers.Add(1) == 1 {
				_, _ = io.WriteString(w, right)
				return
			}
			_, _ = io.WriteString(w, later)
		})
		b := &bench{scale: tiny}
		if l, err := b.press(t.Context(), peer{}, ch, d); err == nil || !strings.Contains(err.Error(), "of one that was looked at") {
			t.Errorf("%s: %d requests are measured, %v", what, l.requests, err)
		}
	}
}

// So it is of a file server, which has no envelope to look at.
func TestAFileServerThatServesAnotherFileIsNotMeasured(t *testing.T) {
	ch, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(prose(1 << 9)) })
	b := &bench{scale: tiny}
	if l, err := b.press(t.Context(), peer{files: true}, ch, demands[1]); err == nil || !strings.Contains(err.Error(), "not the file") {
		t.Errorf("%d requests are measured, %v", l.requests, err)
	}
}

// On a pipe, too: answers are compared with the first, one after the other and in flight.
func TestAPipeThatAnswersWrongLaterIsNotMeasured(t *testing.T) {
	b := &bench{scale: tiny}
	var err error
	if b.cores, err = divideCores(); err != nil {
		t.Fatal(err)
	}
	b.cores.load = b.cores.all
	for _, how := range []struct {
		says    string
		measure func(*child, adder) error
	}{
		{"right 3 times, after 0", func(ch *child, add adder) error { return b.roundTrips(t.Context(), ch, add) }},
		{"right 150 times, after 0", func(ch *child, add adder) error { return b.pipeline(t.Context(), ch, add) }},
	} {
		t.Setenv(asServer, how.says)
		ch, err := b.cores.start("wrong", []string{os.Args[0]}, b.cores.all)
		if err != nil {
			t.Fatal(err)
		}
		stop := ch.within(t.Context(), time.Minute)
		err = how.measure(ch, func(what, unit string, value float64) {
			t.Errorf("%s: measured %s: %v %s", how.says, what, value, unit)
		})
		if err == nil || !strings.Contains(err.Error(), "an answer is not the file") {
			t.Errorf("%s: %v", how.says, err)
		}
		stop()
		ch.end()
	}
}

// A change that is announced again is found, and is not taken for the next.
func TestWhatNobodyHasReadIsCounted(t *testing.T) {
	b := &bench{scale: tiny}
	var err error
	if b.cores, err = divideCores(); err != nil {
		t.Fatal(err)
	}
	b.cores.load = b.cores.all
	t.Setenv(asServer, "right 9 times, after 2")
	ch, err := b.cores.start("talkative", []string{os.Args[0]}, b.cores.all)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.end()
	for range 2 {
		if n, err := ch.unread(t.Context()); n != 2 || err != nil {
			t.Errorf("%d notifications are unread, %v, want 2", n, err)
		}
	}
	said, err := ch.ask(t.Context(), read(smallFile), 1)
	if err != nil || isText(smallContent).of(said) != nil {
		t.Errorf("after them the answer is %.100q, %v", said, err)
	}
}

func TestTheFileThatANotificationAnnounces(t *testing.T) {
	name, err := changed([]byte(`{"method":"notifications/resources/updated","params":{"_meta":{"id":1},"uri":"test://part-00/a.md"}}`))
	if name != "part-00/a.md" || err != nil {
		t.Errorf("it is %q, %v", name, err)
	}
	for _, other := range []string{`{"id":1,"error":{}}`, `{"method":"notifications/resources/updated","params":{}}`, ``} {
		if name, err := changed([]byte(other)); err == nil {
			t.Errorf("%q announces %q", other, name)
		}
	}
}

// A listen of which the server has taken a part is not one like those of others.
func TestAListenIsAcknowledgedAsAWhole(t *testing.T) {
	_, endpoint := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"method":"notifications/subscriptions/acknowledged","params":{"notifications":`+
			`{"resourceSubscriptions":["test://watched.md","test://note-0000.md"]}}}`+"\n\n")
	})
	for extra, says := range map[int]string{1: "", 2: "of 3 URIs 2 are acknowledged"} {
		c, err := openCrowd(t.Context(), peer{}, endpoint, 1, notes(extra))
		if err == nil {
			c.close()
		}
		if err == nil && says != "" || err != nil && (says == "" || !strings.Contains(err.Error(), says)) {
			t.Errorf("of %d URIs two are acknowledged: %v", extra+1, err)
		}
	}
}

// What a stream of events says in its data is no event of its own.
func TestTheAnswerOfAStreamIsItsLastLineOfData(t *testing.T) {
	r := response{status: 200, events: true, body: strings.NewReader("event: message\ndata: {\"text\":\"data: of my own\"}\n\n")}
	said, length, err := r.all()
	if err != nil || string(said) != `{"text":"data: of my own"}` || length != 49 {
		t.Errorf("the answer is %q of %d bytes, %v", said, length, err)
	}
}

// A server that ends, or cannot be started, is not waited for.
func TestAServerThatDoesNotStart(t *testing.T) {
	cores, err := divideCores()
	if err != nil {
		t.Fatal(err)
	}
	cores.load = cores.all
	_, err = cores.startHTTP(t.Context(), "broken", []string{"sh", "-c", "echo it is broken >&2; echo twice >&2; exit 3"}, cores.all)
	if err == nil || !strings.Contains(brief(err), "the server has ended") || !strings.Contains(brief(err), "it is broken") {
		t.Errorf("a server that ends at once: %v", err)
	}
	if _, err = cores.startHTTP(t.Context(), "absent", []string{"/no/such/server"}, cores.all); err == nil {
		t.Error("a server that does not exist has started")
	}
}

// A child that outlives the server does not keep its end from being seen.
func TestAServerWhoseChildStays(t *testing.T) {
	cores, err := divideCores()
	if err != nil {
		t.Fatal(err)
	}
	cores.load = cores.all
	ch, err := cores.startHTTP(t.Context(), "mother", []string{"sh", "-c", "trap '' TERM; sleep 300 & echo child=$! url=http://127.0.0.1/ >&2; wait; wait"}, cores.all)
	if err != nil {
		t.Fatal(err)
	}
	line, err := ch.err.await(t.Context(), "child=", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ch.end() // by force
	_, id, _ := strings.Cut(line, "child=")
	id, _, _ = strings.Cut(id, " ")
	if err := exec.Command("kill", id).Run(); err != nil {
		t.Errorf("the child did not stay: %v", err)
	}
}

// One that never rests is taken as it is, and a note tells that.
func TestAServerThatDoesNotRest(t *testing.T) {
	cores, err := divideCores()
	if err != nil {
		t.Fatal(err)
	}
	cores.load = cores.all
	ch, err := cores.start("busy", []string{"sh", "-c", "while :; do :; done"}, cores.all)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.end()
	b := &bench{scale: tiny, sheet: newSheet(nil)}
	b.scale.patience = 300 * time.Millisecond
	s, err := b.rest(t.Context(), ch)
	if err != nil || s.cpu <= 0 || s.memory.now <= 0 {
		t.Errorf("it takes %v, %v", s, err)
	}
	if text := b.sheet.text(); !strings.Contains(text, "busy does not come to rest") {
		t.Errorf("the tables say %q", text)
	}
}
