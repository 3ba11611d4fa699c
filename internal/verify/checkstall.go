package verify

import (
	"slices"
	"time"
)

// enough is how many bytes one listen must have had to say to be sure that its reader has stalled the server.
const enough = 3 << 20

// checkStalled looks at what went on beside a connection that was not read.
func checkStalled(v *view) verdict {
	if !v.rec.HTTP {
		return untestable("on a pipe all listens share one reader")
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
	acks := slices.ContainsFunc(v.listens, func(l *listening) bool { return len(l.acks) > 0 && l.acks[0] < from })
	for _, l := range v.listens {
		if acks && l.sent > from && l.sent < to && l.key.conn != conn && l.gaveUp >= 0 && len(l.acks) == 0 {
			found.add("%v %s", l, v.unacknowledged(l))
		}
	}
	heard := hearings{}
	v.eachTold(func(w *window, t told) {
		if w.from > from && w.to < to {
			for _, l := range t.missed {
				if heard.last(l, t) {
					found.add("%s did not come to %v within %v", t.subject, l, v.rec.Patience)
				}
			}
		}
		heard.remember(w, t)
	})
	if gap, silence := v.longestGap(from), v.longestSilence(from, to); gap > 0 && silence > regular*gap {
		again := v.nextTold(to, conn)
		if again < 0 || v.between(to, again) > regular*gap {
			return skipped("the server had nothing to say meanwhile, for all that is known")
		}
		found.add("nothing at all was told for %v, before at least every %v, and then %v after the client read again",
			silence.Round(time.Millisecond), gap.Round(time.Millisecond), v.between(to, again).Round(time.Millisecond))
	}
	if found.first == "" && v.arrears(conn, to) < enough {
		return skipped("the server had not enough to say to be stalled by a reader")
	}
	return found.or(answered, "nothing was asked meanwhile")
}

// arrears is how many bytes the server had to say to one listen on a connection before an entry, from when on it was read.
func (v *view) arrears(conn, from int) (most int) {
	bytes := map[string]int{}
	for _, e := range v.rec.Entries[from:] {
		if e.Conn == conn && e.Kind == Received {
			bytes[string(e.Request)] += len(e.Message.Raw)
			most = max(most, bytes[string(e.Request)])
		}
	}
	return most
}

// regular is how many times longer than ever before nothing must be told to say that a server is held up.
const regular = 3

// nextTold is where the first change behind an entry is told on another connection, negative if none is.
func (v *view) nextTold(from, conn int) int {
	for i, e := range v.rec.Entries[from:] {
		if e.Kind == Received && e.Conn != conn && isChange(v.note(from+i).subject.Method) {
			return from + i
		}
	}
	return never
}

// longestGap is the longest time before an entry in which no change was told, from the first one on, 0 if there were too few.
func (v *view) longestGap(before int) (longest time.Duration) {
	const few = 10
	last, n := never, 0
	for i := range v.rec.Entries[:before] {
		if v.rec.Entries[i].Kind == Received && isChange(v.note(i).subject.Method) {
			if n++; last >= 0 {
				longest = max(longest, v.between(last, i))
			}
			last = i
		}
	}
	if n < few {
		return 0
	}
	return max(longest, v.between(last, before))
}

// longestSilence is the longest time between two entries in which the probe waited and nothing was told.
func (v *view) longestSilence(from, to int) (longest time.Duration) {
	for _, w := range v.windows {
		if w.change.Own && w.from > from && w.to >= 0 && w.to < to && len(v.outcomes(w, w.to)) == 0 {
			longest = max(longest, v.between(w.from, w.to))
		}
	}
	return longest
}
