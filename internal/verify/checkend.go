package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

const noCancelOverHTTP = "over HTTP a client cancels by closing the answer, on which nothing can come any more"

// checkCancelSilent: "MUST NOT send any further messages for it". What crosses the cancel is nobody's fault: what counts
// comes after the server must have heard of it.
func checkCancelSilent(v *view) verdict {
	if v.rec.HTTP {
		return untestable(noCancelOverHTTP)
	}
	var found faults
	tested := false
	for _, l := range v.listens {
		if l.heard < 0 || l.part == Identity {
			continue
		}
		for _, i := range l.messages {
			if i > l.heard {
				found.add("after its cancel, and the answer to a later request, %v is told %s", l, v.quote(i))
			}
		}
		v.eachTold(func(w *window, t told) {
			tested = tested || w.from > l.heard && len(t.heard) > 0 && t.heard[0].key.conn == l.key.conn && l.asked.covers(t.subject)
		})
	}
	return found.or(tested, "after a cancel nothing was told that the cancelled listen had asked for")
}

// checkCancelUnanswered: servers do "not send a response for the cancelled request". One that honours nothing of a listen
// may answer it at once, which the cancel crosses.
func checkCancelUnanswered(v *view) verdict {
	if v.rec.HTTP {
		return untestable(noCancelOverHTTP)
	}
	var found faults
	tested := false
	for _, l := range v.listens {
		if l.cancel < 0 || l.askedBad != nil || l.part == Identity || len(l.acks) > 0 && l.honoured.isEmpty() {
			continue
		}
		tested = tested || l.heard >= 0 && len(l.acks) > 0
		for _, i := range l.answers {
			refused := len(l.acks) == 0 && v.rec.Entries[i].Message.Error != nil // for whatever reason, before the cancel came
			if i > l.cancel && !refused {
				found.add("after its cancel %v is answered: %s", l, v.quote(i))
			}
		}
	}
	return found.or(tested, "no listen was cancelled")
}

// checkCancelOthers: a cancel ends "a subscription", not all of a connection.
func checkCancelOthers(v *view) verdict {
	first := never // a cancel that the server has heard of, over HTTP by the end of the answer
	for i, e := range v.rec.Entries {
		if e.Kind == Heard && first < 0 && i > v.firstCancel() {
			first = i
		}
	}
	if first < 0 {
		return skipped("no listen was cancelled")
	}
	var found faults
	tested := false
	heard := hearings{}
	v.eachTold(func(w *window, t told) {
		goesOn := func(l *listening) bool { // unless another listen has come in between
			return w.from > first && l.part != Identity && heard.last(l, t) && !v.opened(heard[l][t.subject.Method].from, w.from)
		}
		for _, l := range t.missed {
			if goesOn(l) {
				found.add("after the cancel of another one %v was not told of %s within %v", l, t.subject, v.rec.Patience)
			}
		}
		tested = tested || slices.ContainsFunc(t.heard, goesOn)
		heard.remember(w, t)
	})
	return found.or(tested, "nothing was told before and after a cancel to a listen that goes on")
}

// hearings are what listens were told of, by listen and method, and in which window.
type hearings map[*listening]map[string]hearing

type hearing struct {
	from int
	told bool // else it should have been
}

// last reports whether a listen was told when the like of t was last to be told to it.
func (h hearings) last(l *listening, t told) bool { return h[l][t.subject.Method].told }

func (h hearings) remember(w *window, t told) {
	for told, all := range map[bool][]*listening{true: t.heard, false: t.missed} {
		for _, l := range all {
			if h[l] == nil {
				h[l] = map[string]hearing{}
			}
			h[l][t.subject.Method] = hearing{w.from, told}
		}
	}
}

// opened reports whether a listen has come between two entries, and gone on.
func (v *view) opened(from, to int) bool {
	return slices.ContainsFunc(v.listens, func(l *listening) bool {
		return l.sent > from && v.isOpen(l, to)
	})
}

// checkCancelUnknown: "Invalid cancellation notifications SHOULD be ignored".
func checkCancelUnknown(v *view) verdict {
	if v.rec.HTTP {
		return untestable(noCancelOverHTTP)
	}
	var found faults
	tested := false
	for i, e := range v.rec.Entries {
		if e.Kind != Cancel || v.byKey[keyOf(e.Conn, e.ID)] != nil {
			continue
		}
		for j := range v.rec.Entries[i:] {
			tested = tested || v.rec.Entries[i+j].Kind == Heard && v.rec.Entries[i+j].Conn == e.Conn
		}
	}
	for _, s := range v.strays {
		if v.afterUnknownCancel(s.at) {
			found.add("it is answered: %s", v.quote(s.at))
		}
	}
	return found.or(tested, "no such cancel was sent, or no request was answered after it")
}

// afterUnknownCancel reports whether a stray answer may be to a cancel of what is not there.
func (v *view) afterUnknownCancel(at int) bool {
	e := &v.rec.Entries[at]
	if e.Message.Method != "" || v.rec.HTTP {
		return false
	}
	return slices.ContainsFunc(v.rec.Entries[:at], func(c Entry) bool {
		return c.Kind == Cancel && c.Conn == e.Conn && v.byKey[keyOf(c.Conn, c.ID)] == nil
	})
}

// Bounds for the time of even the fastest request after many listens: so many times that of the slowest one before, and so
// much more.
const (
	slower = 10
	later  = time.Second
)

// many is how many listens are opened and cut to see whether that leaves something behind.
const many = 256

// checkFrees: servers "free associated resources", and over HTTP "MUST treat a client disconnect as cancellation".
func checkFrees(v *view) verdict {
	cut, late := 0, never
	for _, r := range v.requests {
		if r.part == Late && late < 0 {
			late = r.sent
		}
	}
	for _, l := range v.listens {
		if len(l.acks) > 0 && l.cancel >= 0 && l.cancel < late {
			cut++
		}
	}
	var found faults
	for _, r := range v.requests {
		if r.part == Late && len(r.answers) == 0 && r.gaveUp >= 0 {
			found.add("after %d listens were opened and cut, %s was not answered within %v", cut, r.method, v.rec.Patience)
		}
	}
	if problem := v.refusedLate(); problem != "" && cut > 0 {
		found.add("after %d listens were opened and cut, %s", cut, problem)
	}
	_, before := v.times(Early)
	after, _ := v.times(Late)
	if before > 0 && after > slower*before+later {
		found.add("after %d listens were opened and cut, no request is answered before %v, before each within %v", cut, after, before)
	}
	return found.or(after > 0 && cut >= many/2, fmt.Sprintf("of %d listens that were to be cut %d were opened", many, cut))
}

// refusedLate says how the last of some listens after many was left without acknowledgement, "" if any was not: a server
// may need a while to hear of what was cut.
func (v *view) refusedLate() (problem string) {
	for _, l := range v.listens {
		if l.part != Late {
			continue
		}
		if len(l.acks) > 0 {
			return ""
		}
		if why := v.unacknowledged(l); why != "" {
			problem = fmt.Sprintf("%v %s", l, why)
		}
	}
	return problem
}

// times are the shortest and the longest time until the answer of the requests of a part, 0 if none was answered.
func (v *view) times(part Part) (shortest, longest time.Duration) {
	var all []time.Duration
	for _, r := range v.requests {
		if r.part == part && len(r.answers) > 0 {
			all = append(all, max(v.rec.Entries[r.answers[0]].At.Sub(v.rec.Entries[r.sent].At), 1))
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	return slices.Min(all), slices.Max(all)
}

// soon is how long a listen must at least be able to go on: who ends it later has a limit of time, which it may.
const soon = 5 * time.Second

// checkStaysOpen: the result "is sent only when the server tears the subscription down". It may tear down one that is not
// read for a while.
func checkStaysOpen(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		if len(l.acks) == 0 || l.fault != nil || l.honoured.isEmpty() || l.askedBad != nil || l.part == Identity || v.stalled[l.key.conn] {
			continue
		}
		tested = true
		end := l.end
		if len(l.answers) > 0 && (end < 0 || l.answers[0] < end) {
			end = l.answers[0]
		}
		asked := len(v.rec.Entries)
		if l.cancel >= 0 {
			asked = l.cancel
		}
		for _, ours := range []map[int]int{v.leaving, v.dropped} {
			if at, ended := ours[l.key.conn]; ended {
				asked = min(asked, at)
			}
		}
		if took := v.between(l.acks[0], end); end >= 0 && end < asked && took < soon {
			found.add("%v has ended %v after its acknowledgement: %s", l, took.Round(time.Millisecond), v.endOf(end))
		}
	}
	return found.or(tested, "no listen was acknowledged with anything honoured")
}

func (v *view) between(from, to int) time.Duration {
	if to < 0 {
		return 0
	}
	return v.rec.Entries[to].At.Sub(v.rec.Entries[from].At)
}

func (v *view) endOf(i int) string {
	switch e := &v.rec.Entries[i]; {
	case e.Message != nil:
		return v.quote(i)
	case e.Err != nil:
		return e.Err.Error()
	}
	return "the server ended the answer"
}

// checkMalformed: notifications is required, and its members are booleans and an array of strings.
func checkMalformed(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		if l.part != Malformed {
			continue
		}
		asked := notificationsOf(v.rec.Entries[l.sent].Message.Params)
		switch {
		case len(l.acks) > 0:
			found.add("%s is acknowledged", asked)
		case len(l.answers) > 0:
			tested = tested || !v.overLimit(l)
			if v.rec.Entries[l.answers[0]].Message.Error == nil {
				found.add("%s is answered with a result", asked)
			}
		case v.why(l.request) == "" && l.gaveUp >= 0:
			found.add("%s is not answered within %v", asked, v.rec.Patience)
		case l.end >= 0:
			refusal := (*wire.StatusError)(nil)
			tested = tested || errors.As(v.rec.Entries[l.end].Err, &refusal) && !v.overLimit(l)
		}
	}
	return found.or(tested, "no such listen was answered")
}

func notificationsOf(params json.RawMessage) string {
	var asked struct{ Notifications json.RawMessage }
	if json.Unmarshal(params, &asked) != nil || asked.Notifications == nil {
		return "a listen without notifications"
	}
	return "a listen with notifications " + clip(string(asked.Notifications))
}

// checkCompleted: "When the server ends a subscription on its own initiative (for example, during shutdown), it SHOULD
// respond to the original subscriptions/listen request with a completion result".
func checkCompleted(v *view) verdict {
	if v.rec.HTTP {
		return untestable("over HTTP a client cannot make a server end")
	}
	var found faults
	tested, why := false, "no listen was open when the input of the server ended"
	for _, l := range v.listens {
		at, leaving := v.leaving[l.key.conn]
		if !leaving || !v.isOpen(l, at) || l.honoured.isEmpty() {
			continue
		}
		_, left := v.leftAfter(l.key.conn)
		switch {
		case len(l.answers) == 0 && !left:
			why = "the server was not waited for to leave"
			continue
		case len(l.answers) == 0:
			found.add("after the end of input %v was not answered", l)
		case v.rec.Entries[l.answers[0]].Message.Error != nil:
			found.add("after the end of input %v was answered with an error: %s", l, v.quote(l.answers[0]))
		}
		tested = true
	}
	return found.or(tested, why)
}

// leftAfter is where a server has left after its input had ended. It has not, for all that is known, if there was no time
// to wait for that.
func (v *view) leftAfter(conn int) (at int, left bool) {
	at, left = v.left[conn]
	return at, left && v.rec.Entries[at].Kind == Closed
}

// checkCompletion: "the response carries io.modelcontextprotocol/subscriptionId in _meta", and results "MUST include a
// resultType".
func checkCompletion(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		for _, i := range l.answers {
			m := v.rec.Entries[i].Message
			if m.Error != nil || len(l.acks) == 0 {
				continue
			}
			tested = true
			var result struct {
				ResultType string                     `json:"resultType"`
				Meta       map[string]json.RawMessage `json:"_meta"`
			}
			err := json.Unmarshal(m.Result, &result)
			switch {
			case err != nil || result.ResultType != "complete":
				found.add("the result for %v is not complete: %s", l, v.quote(i))
			case result.Meta[mcp.MetaSubscriptionID] == nil || identity(result.Meta[mcp.MetaSubscriptionID]) != identity(l.id):
				found.add("the result for %v does not bear its id: %s", l, v.quote(i))
			case identity(m.ID) != identity(l.id):
				found.add("the result for %v is to another request: %s", l, v.quote(i))
			}
		}
	}
	return found.or(tested, "no listen was ended by the server")
}

// checkLeaves: "Servers SHOULD exit promptly when their standard input is closed".
func checkLeaves(v *view) verdict {
	if v.rec.HTTP {
		return untestable("a server over HTTP goes on")
	}
	var found faults
	tested := false
	for conn := range v.leaving {
		at, left := v.leftAfter(conn)
		if !left {
			continue
		}
		tested = true
		if err := v.rec.Entries[at].Err; errors.Is(err, wire.ErrForced) {
			found.add("%v", err)
		}
	}
	return found.or(tested, "the server left before that")
}
