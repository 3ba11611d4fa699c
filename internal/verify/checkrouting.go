package verify

import (
	"fmt"
	"slices"
	"time"
)

// told is what became of one subject in a window.
type told struct {
	subject Subject
	heard   []*listening
	missed  []*listening // that must have heard, were they to hear at all
	waiting []*listening // that may still hear
}

// outcomes says who of the listens that were open all through a window heard of what. at is where the recording ends for
// this purpose.
func (v *view) outcomes(w *window, at int) (all []told) {
	var open []*listening
	since := w.from
	for _, l := range v.listens {
		if l.isOpen(w.from) && !l.isOver(at) {
			open = append(open, l)
		}
	}
	if w.change.Own {
		since = 0
		for _, l := range open { // what came before the last of them was open need not have come to all
			since = max(since, l.acks[0])
		}
	}
	for _, s := range v.subjects(w, open, at) {
		t := told{subject: s.what}
		patient := v.rec.Entries[at].At.Sub(s.since) >= v.rec.Patience
		for _, l := range open {
			switch heard := v.tells(l, s.what, since); {
			case !l.honoured.covers(s.what):
			case heard >= 0 && heard <= at:
				t.heard = append(t.heard, l)
			case patient:
				t.missed = append(t.missed, l)
			default:
				t.waiting = append(t.waiting, l)
			}
		}
		all = append(all, t)
	}
	return all
}

type subjectSince struct {
	what  Subject
	since time.Time // from when on it must be told within the time that the probe waits
}

// subjects are what must be told in a window: what the probe has changed, once the server's answers show it, or whatever one
// listen is told when the server says things by itself.
func (v *view) subjects(w *window, open []*listening, at int) (all []subjectSince) {
	if !w.change.Own {
		if w.shown >= 0 {
			all = append(all, subjectSince{w.change.What, v.rec.Entries[w.shown].At})
		}
		return all
	}
	for _, l := range open {
		for _, i := range l.messages {
			s := v.note(i).subject
			same := func(o subjectSince) bool { return o.what == s }
			if i > w.from && i <= at && isChange(s.Method) && !slices.ContainsFunc(all, same) {
				all = append(all, subjectSince{s, v.rec.Entries[i].At})
			}
		}
	}
	return all
}

// eachTold visits what became of each subject in the windows that are over.
func (v *view) eachTold(visit func(w *window, t told)) {
	for _, w := range v.windows {
		if w.to < 0 {
			continue
		}
		for _, t := range v.outcomes(w, w.to) {
			visit(w, t)
		}
	}
}

// firstCancel is where the first cancel is, those of ids that are put to the test left aside.
func (v *view) firstCancel() int {
	first := len(v.rec.Entries)
	for _, l := range v.listens {
		if l.cancel >= 0 && l.part != Identity {
			first = min(first, l.cancel)
		}
	}
	return first
}

func (v *view) checkTold(method string) verdict {
	var found faults
	tested, attempted := false, false
	for _, w := range v.windows {
		attempted = attempted || !w.change.Own && w.change.What.Method == method
	}
	v.eachTold(func(w *window, t told) {
		if w.change.Own || t.subject.Method != method {
			return
		}
		tested = tested || len(t.heard) > 0
		if len(t.heard) == 0 && len(t.missed) > 0 && w.from < v.firstCancel() {
			found.add("no listen was told within %v of %s, though the server's answers show the change", v.rec.Patience, t.subject)
		}
	})
	why := "it is not known when something changes"
	if attempted {
		why = "the server's answers showed no change, or no listen for it was acknowledged"
	}
	return found.or(tested, why)
}

// checkListChanged: the server "SHOULD send a notification" when the list changes, if it says so.
func checkListChanged(v *view) verdict { return v.checkTold(resourcesChanged) }

// checkUpdated: "The server delivers notifications/resources/updated on the resulting stream whenever a watched resource
// changes."
func checkUpdated(v *view) verdict { return v.checkTold(updated) }

// fifty is how many listens a server must put up with.
const fifty = 50

// checkTwoListens: "A client MAY have multiple active subscriptions concurrently".
func checkTwoListens(v *view) verdict {
	return v.checkEach(func(w *window, n int) bool { return n >= 2 && n < fifty && w.from < v.firstCancel() },
		false, "nothing was told while two listens that had asked for it were open")
}

// checkFiftyTold: each of them is "identified by the JSON-RPC request ID of its subscriptions/listen request".
func checkFiftyTold(v *view) verdict {
	return v.checkEach(func(_ *window, n int) bool { return n >= fifty }, true, "nothing was told while fifty listens were open")
}

// checkEach judges the windows that relevant chooses, by the number of listens that should have heard. That none has counts
// if silence does, and if anybody heard the like before: else it is not for want of listens.
func (v *view) checkEach(relevant func(w *window, listens int) bool, silence bool, why string) verdict {
	var found faults
	tested := false
	before := map[string]bool{}
	v.eachTold(func(w *window, t told) {
		n := len(t.heard) + len(t.missed)
		audible := before[t.subject.Method]
		before[t.subject.Method] = audible || len(t.heard) > 0
		if !relevant(w, n) || len(t.heard) == 0 && !(silence && audible) {
			return
		}
		tested = true
		switch {
		case len(t.heard) == 0:
			found.add("%s did not come to any of %d listens within %v", t.subject, n, v.rec.Patience)
		case len(t.missed) > 0:
			found.add("%s came to %s, and within %v not to %s", t.subject, names(t.heard), v.rec.Patience, names(t.missed))
		}
	})
	return found.or(tested, why)
}

func names(all []*listening) string {
	if len(all) > 3 {
		return fmt.Sprintf("%d listens, such as %s", len(all), all[0].String()[len("the listen "):])
	}
	text := all[0].String()
	for _, l := range all[1:] {
		text += " and " + l.String()
	}
	return text
}

// checkFiftyOpen: a server that refuses some of so many has a limit, which it may.
func checkFiftyOpen(v *view) verdict {
	var found faults
	opened, refused, why := 0, 0, ""
	for _, l := range v.listens {
		if l.part != Crowd {
			continue
		}
		switch problem := v.unacknowledged(l); {
		case len(l.acks) > 0:
			opened++
		case len(l.answers) > 0 && v.rec.Entries[l.answers[0]].Message.Error != nil:
			refused, why = refused+1, problem
		case problem != "":
			found.add("of %d listens at once %v %s", fifty, l, problem)
		}
	}
	if found.first == "" && refused > 0 {
		return skipped("of %d listens %d were refused, so that there may be a limit: one %s", opened+refused, refused, why)
	}
	return found.or(opened >= fifty, "not so many were opened")
}

// checkRequests: "any client may interleave unrelated requests on the same transport".
func checkRequests(v *view) verdict {
	var found faults
	tested := false
	for _, r := range v.requests {
		if r.during == 0 {
			continue
		}
		tested = tested || len(r.answers) > 0
		if r.gaveUp >= 0 && len(r.answers) == 0 && v.why(r) == "" {
			found.add("%s was not answered within %v while %d listens were open", r.method, v.rec.Patience, r.during)
		}
	}
	return found.or(tested, "no request was answered while a listen was open")
}

// enough is how many bytes one listen must have had to say to be sure that its reader has stalled the server.
const enough = 3 << 20

// checkStalled looks at what went on beside a connection that was not read.
func checkStalled(v *view) verdict {
	if !v.rec.HTTP {
		return skipped("on a pipe all listens share one reader")
	}
	from, to, conn := never, never, 0
	for i, e := range v.rec.Entries {
		switch e.Kind {
		case Stalled:
			from, conn = i, e.Conn
		case Released:
			to = i
		}
	}
	if from < 0 || to < 0 {
		return skipped("no reader was stalled")
	}
	var found faults
	answered := false
	for _, r := range v.requests {
		if r.sent < from || r.sent > to || r.key.conn == conn {
			continue
		}
		answered = answered || len(r.answers) > 0
		if len(r.answers) == 0 && r.gaveUp >= 0 {
			found.add("%s was not answered within %v", r.method, v.rec.Patience)
		}
	}
	for _, l := range v.listens {
		if l.sent > from && l.sent < to && l.key.conn != conn && l.gaveUp >= 0 && len(l.acks) == 0 {
			found.add("%v %s", l, v.unacknowledged(l))
		}
	}
	v.eachTold(func(w *window, t told) {
		if w.from > from && w.to < to && len(t.missed) > 0 {
			found.add("%s did not come to %s within %v", t.subject, names(t.missed), v.rec.Patience)
		}
	})
	if found.first == "" && v.longest(conn, to) < enough {
		return skipped("the server had not enough to say to be stalled by a reader")
	}
	return found.or(answered, "nothing was asked meanwhile")
}

// longest is the length of the longest message on a connection behind an entry.
func (v *view) longest(conn, from int) (bytes int) {
	for _, e := range v.rec.Entries[from:] {
		if e.Conn == conn && e.Kind == Received {
			bytes = max(bytes, len(e.Message.Raw))
		}
	}
	return bytes
}
