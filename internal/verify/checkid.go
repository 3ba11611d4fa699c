package verify

import "slices"

// The ids that are put to the test. The integer is the first one that a number of 64 bits with a fraction does not hold.
const (
	idZero   = "0"
	idNumber = "1"
	idString = `"1"`
	idLarge  = "9007199254740993"
)

func checkIDZero(v *view) verdict   { return v.checkIDs(idZero) }
func checkIDType(v *view) verdict   { return v.checkIDs(idNumber, idString) }
func checkIDDigits(v *view) verdict { return v.checkIDs(idLarge) }

// checkIDs: "The value is the JSON-RPC ID of the subscriptions/listen request", and an id is "a string or integer".
func (v *view) checkIDs(ids ...string) verdict {
	var found faults
	tested := false
	var refused *listening // for a limit
	for _, l := range v.listens {
		for _, id := range ids {
			switch {
			case l.part != Identity || string(l.id) != id:
			case v.overLimit(l):
				refused = l
			default:
				tested = tested || len(l.acks) > 0 || l.gaveUp >= 0
				v.checkID(l, &found)
			}
		}
	}
	if found.first == "" && refused != nil {
		return v.untried(refused)
	}
	return found.or(tested, "no listen with such an id was acknowledged")
}

func (v *view) checkID(l *listening, found *faults) {
	for _, i := range l.messages { // over HTTP the stream tells whose they are
		if tag := v.note(i).tag; tag == nil || identity(tag) != identity(l.id) {
			found.add("a message of %v bears another id, or none: %s", l, v.quote(i))
		}
	}
	for _, i := range l.answers {
		if identity(v.rec.Entries[i].Message.ID) != identity(l.id) {
			found.add("the answer to %v has another id: %s", l, v.quote(i))
		}
	}
	if l.heard >= 0 {
		for _, i := range l.messages {
			if i > l.heard {
				found.add("%v goes on after its cancel: %s", l, v.quote(i))
			}
		}
	} else if len(l.acks) > 0 && len(l.answers) > 0 && v.isOpen(l, l.answers[0]) && v.otherCancelled(l, l.answers[0]) {
		found.add("the cancel of another id has ended %v: %s", l, v.quote(l.answers[0]))
	}
	if problem := v.unacknowledged(l); problem != "" {
		if at := v.twin(l); at >= 0 {
			problem += "; instead came " + v.quote(at)
		}
		found.add("%v %s", l, problem)
	}
}

// otherCancelled reports whether a listen whose id looks like that of l was cancelled before an entry.
func (v *view) otherCancelled(l *listening, before int) bool {
	return slices.ContainsFunc(v.listens, func(o *listening) bool {
		return o != l && o.key.conn == l.key.conn && o.cancel >= 0 && o.cancel < before && looksAlike(o.id, l.id)
	})
}

// twin finds a message for an id that l's may have become.
func (v *view) twin(l *listening) int {
	for _, s := range v.strays {
		e := &v.rec.Entries[s.at]
		for _, id := range [][]byte{s.note.tag, e.Message.ID} {
			if e.Conn == l.key.conn && id != nil && looksAlike(id, l.id) {
				return s.at
			}
		}
	}
	return never
}

// isTwin reports whether a stray message is one for what an id that is put to the test has become.
func (v *view) isTwin(s stray) bool {
	e := &v.rec.Entries[s.at]
	for _, l := range v.listens {
		if l.part != Identity || l.key.conn != e.Conn {
			continue
		}
		if s.note.tag != nil && looksAlike(s.note.tag, l.id) || e.Message.ID != nil && looksAlike(e.Message.ID, l.id) {
			return true
		}
	}
	return false
}
