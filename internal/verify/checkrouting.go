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
		if v.isOpen(l, w.from) && !v.isOver(l, at) && !v.stalled[l.key.conn] {
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
		bases := v.bases(open, s.what, since)
		patient := v.rec.Entries[at].At.Sub(s.since) >= v.rec.Patience
		for _, l := range open {
			switch heard := v.tells(l, s.what, since); {
			case !l.honoured.names(s.what, bases):
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

// bases are the URIs for the sake of which listens are told of s.
func (v *view) bases(all []*listening, s Subject, since int) (bases []string) {
	for _, l := range all {
		if base := l.honoured.base(s); s.Method == updated && base != "" && v.tells(l, s, since) >= 0 {
			bases = append(bases, base)
		}
	}
	return bases
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

// firstCancel is where the first cancel is.
func (v *view) firstCancel() int {
	first := len(v.rec.Entries)
	for _, l := range v.listens {
		if l.cancel >= 0 {
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
	var found faults
	tested := false
	v.eachTold(func(w *window, t told) {
		if n := len(t.heard) + len(t.missed); len(t.heard) == 0 || n < 2 || n >= fifty || w.from > v.firstCancel() {
			return
		}
		tested = true
		v.addMissed(&found, t.subject, t.heard, t.missed)
	})
	return found.or(tested, "nothing was told while two listens that had asked for it were open")
}

// checkFiftyTold: each of them is "identified by the JSON-RPC request ID of its subscriptions/listen request". That none is
// told counts if there were some, when they were fewer.
func checkFiftyTold(v *view) verdict {
	var found faults
	tested := false
	audible := map[string]bool{}
	crowd := func(all []*listening) []*listening {
		return slices.DeleteFunc(slices.Clone(all), func(l *listening) bool { return l.part != Crowd })
	}
	v.eachTold(func(w *window, t told) {
		heard, missed := crowd(t.heard), crowd(t.missed)
		if len(heard)+len(missed) < fifty {
			audible[t.subject.Method] = audible[t.subject.Method] || len(t.heard) > 0
		} else if len(heard) > 0 || audible[t.subject.Method] {
			tested = true
			v.addMissed(&found, t.subject, heard, missed)
		}
	})
	return found.or(tested, "nothing was told while fifty listens were open")
}

func (v *view) addMissed(found *faults, s Subject, heard, missed []*listening) {
	switch {
	case len(missed) == 0:
	case len(heard) == 0:
		found.add("%s did not come to any of %d listens within %v", s, len(missed), v.rec.Patience)
	default:
		found.add("%s came to %s, and within %v not to %s", s, names(heard), v.rec.Patience, names(missed))
	}
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
