package verify

import "fmt"

// Outcome says what became of a rule.
type Outcome int

// Outcomes of rules.
const (
	OK   Outcome = iota // kept, as far as it was put to the test
	Fail                // broken
	Skip                // not put to the test
)

func (o Outcome) String() string { return [...]string{"ok", "FAIL", "skip"}[o] }

// Rule is one that the specification sets for listens.
type Rule struct {
	Name  string
	Says  string
	Place string // in revision 2026-07-28 of the specification: the page and the section

	check func(*view) verdict
}

// Finding is what a recording shows of a rule.
type Finding struct {
	Rule
	Outcome Outcome
	Detail  string // what breaks it, or why it could not be put to the test; empty if kept
}

// verdict is what a check finds.
type verdict struct {
	outcome  Outcome
	detail   string
	timeless bool // of Skip: more time would not have helped
}

func skipped(format string, args ...any) verdict {
	return verdict{outcome: Skip, detail: fmt.Sprintf(format, args...)}
}

// untestable is skipped for a reason that lies in the server or in the way to it.
func untestable(format string, args ...any) verdict {
	return verdict{outcome: Skip, detail: fmt.Sprintf(format, args...), timeless: true}
}

// faults collects what breaks a rule.
type faults struct {
	first string
	more  int
}

func (f *faults) add(format string, args ...any) {
	if f.first == "" {
		f.first = fmt.Sprintf(format, args...)
	} else {
		f.more++
	}
}

// or is the verdict: on the faults, if there are any; else that the rule is kept if it was put to the test, and why not if
// it was not.
func (f *faults) or(tested bool, why string) verdict {
	switch {
	case f.more > 0:
		return verdict{outcome: Fail, detail: fmt.Sprintf("%s (and %d more)", f.first, f.more)}
	case f.first != "":
		return verdict{outcome: Fail, detail: f.first}
	case !tested:
		return skipped("%s", why)
	}
	return verdict{}
}

// Judge holds a recording against every rule, in the order of the table.
func Judge(rec *Recording) []Finding {
	v := look(rec)
	var all []Finding
	for _, r := range rules {
		found := r.check(v)
		if found.outcome == Skip && rec.Expired > 0 && !found.timeless {
			found.detail = fmt.Sprintf("the time was over after %v, before all was tried: %s", rec.Expired, found.detail)
		}
		all = append(all, Finding{Rule: r, Outcome: found.outcome, Detail: found.detail})
	}
	return all
}

// Rules is the table, in the order in which findings are told.
func Rules() []Rule { return append([]Rule(nil), rules...) }

const (
	subscriptions = "basic/patterns/subscriptions, "
	cancellation  = "basic/patterns/cancellation, "
	stdio         = "basic/transports/stdio, "
	overHTTP      = "basic/transports/streamable-http, "
)

var rules = []Rule{
	{"acknowledged", "a listen is acknowledged", subscriptions + "Acknowledgment", checkAcknowledged},
	{"ack-first", "nothing of a listen comes before its acknowledgement", subscriptions + "Acknowledgment", checkAckFirst},
	{"ack-once", "a listen is acknowledged once", subscriptions + "Acknowledgment", checkAckOnce},
	{"ack-subset", "an acknowledgement names nothing that was not asked for", subscriptions + "Acknowledgment", checkAckSubset},
	{"ack-supported", "an acknowledgement leaves out what the server does not support", subscriptions + "Acknowledgment", checkAckSupported},

	{"id-zero", "0 is an id like any other", "basic/index, Requests", checkIDZero},
	{"id-type", `the ids 1 and "1" are told apart, and come back as they were sent`, subscriptions + "Receiving Notifications", checkIDType},
	{"id-digits", "a large integer comes back with all its digits", subscriptions + "Receiving Notifications", checkIDDigits},

	{"tagged", "every message of a listen bears its id, and that of no other", subscriptions + "Receiving Notifications", checkTagged},
	{"untagged", "no change is told outside of a listen", "schema, SubscriptionFilter", checkUntagged},
	{"asked-only", "a listen is told nothing that it did not ask for", subscriptions + "Opening a Stream", checkAskedOnly},
	{"no-progress", "progress and log messages do not travel on a listen", overHTTP + "Receiving Messages", checkNoProgress},
	{"messages", "the server sends answers and notifications, and nothing else", "basic/transports/index, Messages", checkMessages},

	{"list-changed", "a change of the list of resources is told", "server/resources, List Changed Notification", checkListChanged},
	{"updated", "a change of a resource is told", "server/resources, Subscriptions", checkUpdated},
	{"two-listens", "of listens that ask for the same each is told", subscriptions + "Multiple Concurrent Subscriptions", checkTwoListens},
	{"fifty-open", "fifty listens can be open at once", subscriptions + "Multiple Concurrent Subscriptions", checkFiftyOpen},
	{"fifty-told", "each of fifty listens is told", subscriptions + "Multiple Concurrent Subscriptions", checkFiftyTold},
	{"requests", "requests are answered while listens are open", "basic/index, Statelessness", checkRequests},
	{"stalled", "a client that reads nothing does not hold up the others", overHTTP + "Receiving Messages", checkStalled},

	{"cancel-silent", "nothing comes of a listen after its cancel", stdio + "Cancellation", checkCancelSilent},
	{"cancel-unanswered", "a cancelled listen is not answered", cancellation + "Behavior Requirements", checkCancelUnanswered},
	{"cancel-others", "the other listens go on after a cancel", subscriptions + "Cancellation", checkCancelOthers},
	{"cancel-unknown", "the cancel of what is not there is ignored", cancellation + "Error Handling", checkCancelUnknown},
	{"frees", "listens that are cut leave nothing behind", cancellation + "Behavior Requirements", checkFrees},

	{"stays-open", "a listen is not answered while it goes on", "schema, SubscriptionsListenResult", checkStaysOpen},
	{"malformed", "a listen whose notifications are missing or of a wrong type is refused", "schema, SubscriptionsListenRequestParams", checkMalformed},
	{"completed", "a listen that the server ends is answered with a result", subscriptions + "Graceful Closure", checkCompleted},
	{"completion", "that result is complete, and bears the id of the listen", subscriptions + "Graceful Closure", checkCompletion},
	{"leaves", "the server leaves when its input ends", stdio + "Shutdown", checkLeaves},
}
