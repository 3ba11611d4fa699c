package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// view is a recording sorted by listens and requests. It grows with the recording, an entry at a time. Places in the
// recording are indices of its entries; those of what did not happen are negative.
type view struct {
	rec      *Recording
	listens  []*listening
	requests []*request // that are no listens
	byKey    map[key]*request

	notes   map[int]note // of what was received
	stalled map[int]bool // connections that were not read for a while: what comes on them comes late
	strays  []stray      // what belongs to no request
	windows []*window    // of changes, in order
	broken  []int        // what is no message, but for what is too long to be taken: that is no fault
	leaving map[int]int  // by connection, where the probe ends it in order
	dropped map[int]int  // by connection, where it gives it up
	left    map[int]int  // by connection, where it has ended
}

// request is one that the probe sent.
type request struct {
	key     key
	id      json.RawMessage
	method  string
	part    Part
	sent    int
	answers []int
	gaveUp  int
	end     int // over HTTP, of its answer
	long    int // of what came in place of its answer, or may have, and was too long to be taken
	during  int // listens on the connection that were open when it was sent

	listening *listening // nil if it is none
}

// listening is a listen.
type listening struct {
	*request
	asked    filter
	askedBad error             // of one that was made so
	messages []int             // that bear its id or, over HTTP, came in its answer; answers not included
	told     map[Subject][]int // those of them by what they tell of
	acks     []int
	honoured filter // of the first acknowledgement
	fault    error  // in that one
	cancel   int
	heard    int // where the server must have heard of that
}

// window is from where a change begins to where nobody waits for it any more.
type window struct {
	change   *Change
	from, to int // to is negative while it lasts
	shown    int
	restless bool // it cannot show
}

// stray is a message that belongs to no request.
type stray struct {
	at   int
	note note
}

// note is what a notification says that rules look at.
type note struct {
	tag     json.RawMessage // nil if it has none
	subject Subject
	filter  json.RawMessage
	cancels json.RawMessage // of notifications/cancelled
}

const never = -1

func look(rec *Recording) *view {
	v := newView(rec)
	for i := range rec.Entries {
		v.add(i)
	}
	return v
}

func newView(rec *Recording) *view {
	return &view{rec: rec, byKey: map[key]*request{}, notes: map[int]note{}, stalled: map[int]bool{}, leaving: map[int]int{}, dropped: map[int]int{}, left: map[int]int{}}
}

// add takes in the entry at i, the last one.
func (v *view) add(i int) {
	e := &v.rec.Entries[i]
	switch e.Kind {
	case Sent:
		v.sent(i, e)
	case Received:
		v.received(i, e)
	case Broken:
		v.odd(i, e)
	case Ended, Closed:
		v.ended(i, e)
	case Cancel:
		if r := v.byKey[keyOf(e.Conn, e.ID)]; r != nil && r.listening != nil {
			r.listening.cancel = i
		}
	case Heard:
		for _, l := range v.listens {
			if l.key.conn == e.Conn && l.cancel >= 0 && l.heard < 0 {
				l.heard = i
			}
		}
	case GaveUp:
		if r := v.byKey[keyOf(e.Conn, e.ID)]; r != nil {
			r.gaveUp = i
		}
	case Changing:
		v.windows = append(v.windows, &window{change: e.Change, from: i, to: never, shown: never})
	case Shown, Restless, Settled:
		v.progress(i, e)
	case Stalled:
		v.stalled[e.Conn] = true
	case Closing:
		v.leaving[e.Conn] = i
	case Dropped:
		v.dropped[e.Conn] = i
	}
}

func (v *view) progress(i int, e *Entry) {
	for _, w := range v.windows {
		switch {
		case w.change != e.Change:
		case e.Kind == Shown:
			w.shown = i
		case e.Kind == Restless:
			w.restless = true
		default:
			w.to = i
		}
	}
}

func (v *view) ended(i int, e *Entry) {
	if e.Request == nil || e.Kind == Closed {
		if _, known := v.left[e.Conn]; !known || e.Kind == Closed {
			v.left[e.Conn] = i
		}
		return
	}
	if r := v.byKey[keyOf(e.Conn, e.Request)]; r != nil {
		r.end = i
		if tooLong(e.Err) != nil {
			r.long = i
		}
	}
}

// odd takes in what could not be taken as a message. If that is for its length it is the answer to the request whose id was
// seen in it or, if none was, to any that is open.
func (v *view) odd(i int, e *Entry) {
	fault := tooLong(e.Err)
	if fault == nil {
		v.broken = append(v.broken, i)
		return
	}
	id := e.Request
	if id == nil {
		id = fault.ID
	}
	for _, r := range v.requests {
		if r.key.conn == e.Conn && len(r.answers) == 0 && (id == nil || r.key == keyOf(e.Conn, id)) {
			r.long = i
		}
	}
}

// tooLong is an error that says so of a message, nil if it is another.
func tooLong(err error) *wire.FrameError {
	if fault := (*wire.FrameError)(nil); errors.As(err, &fault) && fault.TooLong {
		return fault
	}
	return nil
}

func (v *view) sent(i int, e *Entry) {
	if e.ID == nil {
		return
	}
	r := &request{key: keyOf(e.Conn, e.ID), id: e.ID, method: e.Message.Method, part: e.Part, sent: i, gaveUp: never, end: never, long: never}
	v.byKey[r.key] = r
	for _, l := range v.listens {
		if l.key.conn == e.Conn && v.isOpen(l, i) {
			r.during++
		}
	}
	if r.method != listenMethod {
		v.requests = append(v.requests, r)
		return
	}
	r.listening = &listening{request: r, told: map[Subject][]int{}, cancel: never, heard: never}
	var params struct{ Notifications json.RawMessage }
	_ = json.Unmarshal(e.Message.Params, &params) // what is wrong is found below
	r.listening.asked, r.listening.askedBad = parseFilter(params.Notifications)
	v.listens = append(v.listens, r.listening)
}

func (v *view) received(i int, e *Entry) {
	if e.Message.Method != "" && e.Message.ID != nil {
		return // a request, which servers do not send
	}
	n := read(e.Message)
	v.notes[i] = n
	var r *request
	switch {
	case e.Request != nil:
		r = v.byKey[keyOf(e.Conn, e.Request)]
	case e.Message.Method == "":
		r = v.byKey[keyOf(e.Conn, e.Message.ID)]
	case n.tag != nil:
		r = v.byKey[keyOf(e.Conn, n.tag)]
	}
	switch {
	case r == nil, e.Message.Method != "" && r.listening == nil:
		v.strays = append(v.strays, stray{i, n})
	case e.Message.Method == "":
		r.answers = append(r.answers, i)
	default:
		r.listening.took(i, n)
	}
}

func (l *listening) took(i int, n note) {
	l.messages = append(l.messages, i)
	l.told[n.subject] = append(l.told[n.subject], i)
	if n.subject.Method != acknowledged {
		return
	}
	if l.acks = append(l.acks, i); len(l.acks) == 1 {
		l.honoured, l.fault = parseFilter(n.filter)
	}
}

// read reads the params of a notification, as far as they make sense.
func read(m *wire.Message) note {
	n := note{subject: Subject{Method: m.Method}}
	params, err := jsonrpc.Split(m.Params)
	if err != nil {
		return n
	}
	if meta, err := jsonrpc.Split(params.Get("_meta")); err == nil {
		n.tag = meta.Get(mcp.MetaSubscriptionID)
	}
	if m.Method == updated {
		_ = json.Unmarshal(params.Get("uri"), &n.subject.URI)
	}
	n.filter, n.cancels = params.Get("notifications"), params.Get("requestId")
	return n
}

// isOpen reports whether a listen is acknowledged at the entry i, and nothing has ended it before.
func (v *view) isOpen(l *listening, i int) bool {
	return len(l.acks) > 0 && l.acks[0] < i && !v.isOver(l, i)
}

// isOver reports whether something has ended a listen before the entry i.
func (v *view) isOver(l *listening, i int) bool {
	before := func(at int) bool { return at >= 0 && at < i }
	for _, ends := range []map[int]int{v.leaving, v.dropped, v.left} {
		if at, ended := ends[l.key.conn]; ended && at < i {
			return true
		}
	}
	return before(l.cancel) || before(l.end) || len(l.answers) > 0 && l.answers[0] < i
}

// note is what the message at an index says.
func (v *view) note(i int) note { return v.notes[i] }

// tells returns the first index from from on at which l tells of s, or a negative one.
func (l *listening) tells(s Subject, from int) int {
	all := l.told[s]
	if at, _ := slices.BinarySearch(all, from); at < len(all) {
		return all[at]
	}
	return never
}

// quote shows the message at an index.
func (v *view) quote(i int) string { return clip(string(v.rec.Entries[i].Message.Raw)) }

// clip shortens what is quoted to what names, ids and the places of both take.
func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (l *listening) String() string { return "the listen " + jsonrpc.Clip(string(l.id)) }

// why tells how the server has ended the answer to a request over HTTP, or else the pipe, without an answer, "" if it has
// not.
func (v *view) why(r *request) string {
	at := r.end
	if at < 0 {
		at = v.endOfConn(r.key.conn)
	}
	if at < 0 {
		return ""
	}
	if err := v.rec.Entries[at].Err; err != nil && v.rec.HTTP {
		return err.Error()
	} else if err != nil {
		return "the server left: " + err.Error()
	}
	return fmt.Sprintf("the server ended %s", map[bool]string{true: "the answer", false: "by itself"}[v.rec.HTTP])
}

// endOfConn is where a server has ended a connection by itself, negative if it has not.
func (v *view) endOfConn(conn int) int {
	at, left := v.left[conn]
	for _, ours := range []map[int]int{v.leaving, v.dropped} {
		if from, ok := ours[conn]; ok && from < at {
			left = false
		}
	}
	if !left {
		return never
	}
	return at
}
