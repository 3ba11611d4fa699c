package verify

import (
	"fmt"
	"slices"
)

// told is what became of one subject in a window. A listen of which nothing is certain is in none of the lists.
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
	for _, l := range v.listens {
		if v.isOpen(l, w.from) && !v.isOver(l, at) && !v.stalled[l.key.conn] {
			open = append(open, l)
		}
	}
	if w.change.Own {
		for _, s := range v.overheard(w, open, at) {
			all = append(all, v.ownOutcome(s, w, open, at))
		}
	} else if w.shown >= 0 {
		all = append(all, v.outcome(w, open, at))
	}
	return all
}

// outcome is what became of a change that came about after all of these listens were acknowledged, and shows.
func (v *view) outcome(w *window, open []*listening, at int) told {
	t := told{subject: w.change.What}
	bases := v.bases(open, t.subject, w.from)
	patient := v.between(w.shown, at) >= v.rec.Patience
	for _, l := range open {
		switch heard := l.tells(t.subject, w.from); {
		case !l.honoured.names(t.subject, bases):
		case heard >= 0 && heard <= at:
			t.heard = append(t.heard, l)
		case patient:
			t.missed = append(t.missed, l)
		default:
			t.waiting = append(t.waiting, l)
		}
	}
	return t
}

// ownOutcome is what became of something that the server has said by itself. When it came about nobody knows: a listen may be
// told of what happened before another one was there, and that long after the acknowledgement of the other, since each may
// be as slow as the probe is patient. So a listen has missed it only if others are told that long after it was last told
// of the like, or acknowledged.
func (v *view) ownOutcome(s overheard, w *window, open []*listening, at int) told {
	t := told{subject: s.what}
	for _, l := range open {
		last := l.lastTold(s.what, at)
		if last > w.from && l.honoured.covers(s.what) {
			t.heard = append(t.heard, l)
			continue
		}
		var tellings []int // that have to be those of l, too
		for base, all := range s.tellings {
			if l.honoured.names(s.what, base.uris()) {
				tellings = append(tellings, all...)
			}
		}
		if len(tellings) == 0 {
			continue
		}
		slices.Sort(tellings)
		certain := slices.IndexFunc(tellings, func(i int) bool { return v.between(last, i) >= v.rec.Patience })
		switch {
		case certain >= 0 && v.between(tellings[certain], at) >= v.rec.Patience:
			t.missed = append(t.missed, l)
		case certain >= 0, v.between(tellings[0], at) < v.rec.Patience:
			t.waiting = append(t.waiting, l)
		}
	}
	return t
}

// lastTold is where l is last told of s until an entry, or else where it is acknowledged.
func (l *listening) lastTold(s Subject, to int) int {
	all := l.told[s]
	if behind, _ := slices.BinarySearch(all, to+1); behind > 0 {
		return max(all[behind-1], l.acks[0])
	}
	return l.acks[0]
}

// bases are the URIs for the sake of which listens are told of s.
func (v *view) bases(all []*listening, s Subject, since int) (bases []string) {
	for _, l := range all {
		if base := l.honoured.base(s); s.Method == updated && base != "" && l.tells(s, since) >= 0 {
			bases = append(bases, base)
		}
	}
	return bases
}

// overheard is something that any listen is told of in a window, and where it is.
type overheard struct {
	what     Subject
	tellings map[base][]int // by the URI for the sake of which it is told
}

// base is the URI for the sake of which a listen is told of another resource, "" if it is not another.
type base string

func (b base) uris() []string {
	if b == "" {
		return nil
	}
	return []string{string(b)}
}

func (v *view) overheard(w *window, open []*listening, at int) (all []overheard) {
	places := map[Subject]int{}
	for _, l := range open {
		first, _ := slices.BinarySearch(l.messages, w.from)
		bases := map[Subject]base{}
		for _, i := range l.messages[first:] {
			s := v.note(i).subject
			if i > at || !isChange(s.Method) {
				continue
			}
			b, known := bases[s]
			if !known && s.Method == updated {
				b = base(l.honoured.base(s))
			}
			bases[s] = b
			place, known := places[s]
			if !known {
				place, places[s] = len(all), len(all)
				all = append(all, overheard{s, map[base][]int{}})
			}
			all[place].tellings[b] = append(all[place].tellings[b], i)
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
	tested := false
	v.eachTold(func(w *window, t told) {
		if w.change.Own || t.subject.Method != method {
			return
		}
		tested = tested || len(t.heard) > 0
		if len(t.heard) == 0 && len(t.missed) > 0 && w.from < v.firstCancel() {
			found.add("no listen was told within %v of %s, though the server's answers show the change", v.rec.Patience, t.subject)
		}
	})
	return found.or(tested, v.whyUntold(method))
}

// whyUntold says why it is not known whether listens are told of changes of a kind.
func (v *view) whyUntold(method string) string {
	var tried, shown, still bool
	for _, w := range v.windows {
		if !w.change.Own && w.change.What.Method == method {
			tried, shown, still = true, shown || w.shown >= 0, still || !w.restless
		}
	}
	acknowledged := slices.ContainsFunc(v.listens, func(l *listening) bool {
		return method == resourcesChanged && l.honoured.Resources || method == updated && len(l.honoured.URIs) > 0
	})
	switch {
	case !tried:
		return "it is not known when something changes"
	case !acknowledged && method == resourcesChanged && v.rec.Serves.Resources:
		return "no listen for it was acknowledged, though the capabilities say resources.listChanged: true"
	case !acknowledged && method == updated && v.rec.Serves.Subscribe:
		return "no listen for it was acknowledged, though the capabilities say resources.subscribe: true"
	case !acknowledged:
		return "no listen for it was acknowledged"
	case shown:
		return "the server's answers showed a change, but no listen for it was open long enough"
	case still:
		return "the server's answers showed no change"
	}
	return "the server's answers are different each time, so that they cannot show a change"
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
		return untestable("of %d listens %d were refused, so that there may be a limit: one %s", opened+refused, refused, why)
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
