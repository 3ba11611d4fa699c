package verify

import "strings"

const noAck = "no listen was acknowledged"

// checkAcknowledged: "The server MUST send notifications/subscriptions/acknowledged".
func checkAcknowledged(v *view) verdict {
	var found faults
	tested := false
	var refused *listening // for a limit, which a server may have
	for _, l := range v.listens {
		if l.part != Plain {
			continue
		}
		if v.overLimit(l) {
			refused = l
		} else if problem := v.unacknowledged(l); problem != "" {
			found.add("%v %s", l, problem)
		}
		tested = tested || len(l.acks) > 0
	}
	if found.first == "" && refused != nil {
		return v.untried(refused)
	}
	return found.or(tested, noAck)
}

// unacknowledged says how a listen was left without acknowledgement, "" if it was not.
func (v *view) unacknowledged(l *listening) string {
	switch {
	case len(l.acks) > 0, l.cancel >= 0 && len(l.answers) > 0 && l.answers[0] > l.cancel:
		return ""
	case len(l.answers) > 0 && (l.gaveUp < 0 || l.answers[0] < l.gaveUp):
		answer := v.rec.Entries[l.answers[0]].Message
		if answer.Error != nil {
			return "was refused: " + answer.Error.Error()
		}
		return "was answered without an acknowledgement: " + v.quote(l.answers[0])
	case l.gaveUp >= 0 && v.why(l.request) == "":
		return "was not acknowledged within " + v.rec.Patience.String()
	case l.cancel < 0 && v.why(l.request) != "":
		return "was not acknowledged: " + v.why(l.request)
	}
	return ""
}

// checkAckFirst: the acknowledgement is "the first message carrying the subscription's ID", and the server "MUST NOT send any
// notification on the subscription before it".
func checkAckFirst(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		if len(l.messages) == 0 {
			continue
		}
		tested = true
		if len(l.acks) > 0 && len(l.answers) > 0 && l.answers[0] < l.acks[0] {
			found.add("%v is answered before its acknowledgement: %s", l, v.quote(l.answers[0]))
		}
		if first := l.messages[0]; v.note(first).subject.Method != acknowledged {
			found.add("the first message of %v is %s", l, v.quote(first))
		}
	}
	return found.or(tested, noAck)
}

func checkAckOnce(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		if l.part == Identity { // an id that becomes another one is told of elsewhere
			continue
		}
		tested = tested || len(l.acks) > 0
		if len(l.acks) > 1 {
			found.add("%v was acknowledged %d times", l, len(l.acks))
		}
	}
	return found.or(tested, noAck)
}

// checkAckSubset: the acknowledgement "reflects the subset the server agreed to honor".
func checkAckSubset(v *view) verdict {
	var found faults
	tested := false
	for _, l := range v.listens {
		if len(l.acks) == 0 || l.askedBad != nil {
			continue
		}
		tested = true
		if l.fault != nil {
			found.add("the acknowledgement of %v is malformed: %v", l, l.fault)
		} else if more := l.honoured.beyond(&l.asked); len(more) > 0 {
			found.add("the acknowledgement of %v names %s, which it did not ask for", l, strings.Join(more, ", "))
		}
	}
	return found.or(tested, noAck)
}

// checkAckSupported: "Notification types the server does not support are omitted." What it supports are its capabilities: with
// none of a kind a client need not ask.
func checkAckSupported(v *view) verdict {
	if !v.rec.Serves.Known {
		return untestable("the server does not say what it supports")
	}
	var found faults
	tested := false
	for _, l := range v.listens {
		if len(l.acks) == 0 {
			continue
		}
		for _, kind := range []struct {
			name, capability          string
			asked, honoured, supports bool
		}{
			{"toolsListChanged", "tools.listChanged", l.asked.Tools, l.honoured.Tools, v.rec.Serves.Tools},
			{"promptsListChanged", "prompts.listChanged", l.asked.Prompts, l.honoured.Prompts, v.rec.Serves.Prompts},
			{"resourcesListChanged", "resources.listChanged", l.asked.Resources, l.honoured.Resources, v.rec.Serves.Resources},
			{"resourceSubscriptions", "resources.subscribe", len(l.asked.URIs) > 0, len(l.honoured.URIs) > 0, v.rec.Serves.Subscribe},
		} {
			tested = tested || kind.asked && !kind.supports
			if kind.honoured && !kind.supports {
				found.add("the acknowledgement of %v names %s, though the capabilities in the answer to server/discover do not say %s: true",
					l, kind.name, kind.capability)
			}
		}
	}
	return found.or(tested, "the server supports all that can be asked for, or acknowledged nothing")
}
