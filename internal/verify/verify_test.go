package verify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// try runs the probe against a fake, in a bubble, where nothing waits. It returns the outcomes by rule.
func try(t *testing.T, f *fake, world bool) (all []Finding, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts := &Options{dial: f.dial, baggage: 10}
		if world {
			opts.World = f
		}
		begun := time.Now()
		found, err := Run(t.Context(), targetOf(f), opts)
		if err != nil {
			t.Fatal(err)
		}
		all, took = found, time.Since(begun)
	})
	return all, took
}

func targetOf(f *fake) wire.Target {
	if f.http {
		return wire.Target{URL: "http://127.0.0.1/"}
	}
	return wire.Target{Command: []string{"fake"}}
}

// with are the names of the rules that have an outcome.
func with(all []Finding, o Outcome) (names []string) {
	for _, f := range all {
		if f.Outcome == o {
			names = append(names, f.Name)
		}
	}
	return names
}

// onPipe and onHTTP are the rules that cannot be put to the test there.
var (
	onPipe = []string{"stalled"}
	onHTTP = []string{"stalled", "cancel-silent", "cancel-unanswered", "cancel-unknown", "completed", "leaves"}
)

// TestServerWithoutFaultBreaksNoRule: and all that can be put to the test is.
func TestServerWithoutFaultBreaksNoRule(t *testing.T) {
	for _, http := range []bool{false, true} {
		all, took := try(t, newFake(http, ""), true)
		want := onPipe
		if http {
			want = onHTTP
		}
		if broken, skipped := with(all, Fail), with(all, Skip); len(broken) > 0 || !slices.Equal(skipped, want) {
			t.Errorf("HTTP: %v: broken %v, skipped %v, want %v\n%s", http, broken, skipped, want, details(all))
		}
		if took > 30*time.Second {
			t.Errorf("HTTP: %v: it took %v", http, took)
		}
	}
}

func details(all []Finding) string {
	var text strings.Builder
	for _, f := range all {
		if f.Detail != "" {
			text.WriteString(f.Outcome.String() + " " + f.Name + ": " + f.Detail + "\n")
		}
	}
	return text.String()
}

// TestServerThatTalksByItself: without a world the changes of the server's own count, once its answers show them.
func TestServerThatTalksByItself(t *testing.T) {
	for _, http := range []bool{false, true} {
		f := newFake(http, "")
		f.ticker = 700 * time.Millisecond
		all, _ := try(t, f, false)
		want := []string{"list-changed", "stalled"}
		if http {
			want = append([]string{"list-changed"}, onHTTP...)
		}
		if broken, skipped := with(all, Fail), with(all, Skip); len(broken) > 0 || !slices.Equal(skipped, want) {
			t.Errorf("HTTP: %v: broken %v, skipped %v\n%s", http, broken, skipped, details(all))
		}
	}
}

// TestServerThatTicks: what changes between two looks now and then can show a change all the same, and what is different each
// time cannot.
func TestServerThatTicks(t *testing.T) {
	for fault, want := range map[string]string{
		"changes after the first look": "",
		"is made anew":                 "the server's answers are different each time, so that they cannot show a change",
	} {
		f := newFake(false, fault)
		f.ticker = 700 * time.Millisecond
		all, _ := try(t, f, false)
		for _, found := range all {
			if found.Name == "updated" && (found.Detail != want || (found.Outcome == OK) != (want == "")) {
				t.Errorf("%s: %v %s", fault, found.Outcome, found.Detail)
			}
		}
	}
}

// TestReadsThatAreNotAnsweredAreWaitedForOnce: else there would be no time left for the other rules.
func TestReadsThatAreNotAnsweredAreWaitedForOnce(t *testing.T) {
	f := newFake(false, "reads are not answered")
	f.ticker = 700 * time.Millisecond
	all, took := try(t, f, false)
	if broken := with(all, Fail); !slices.Equal(broken, []string{"requests"}) || took > time.Minute {
		t.Errorf("broken %v after %v\n%s", broken, took, details(all))
	}
}

// TestWhatIsTooLongIsNoFault: a server may have a resource that is longer than what the probe takes. The rest is tested.
func TestWhatIsTooLongIsNoFault(t *testing.T) {
	for _, http := range []bool{false, true} {
		for _, fault := range []string{"huge: id seen", "huge: id not seen"} {
			f := newFake(http, fault)
			f.ticker = 700 * time.Millisecond
			all, took := try(t, f, false)
			if broken := with(all, Fail); len(broken) > 0 || !slices.Contains(with(all, OK), "updated") || took > time.Minute {
				t.Errorf("%s (HTTP: %v): broken %v after %v\n%s", fault, http, broken, took, details(all))
			}
		}
	}
}

// TestLeavingMayTakeAsLongAsAnything: patience is for the end, too.
func TestLeavingMayTakeAsLongAsAnything(t *testing.T) {
	for patience, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Second: 5 * time.Second, 30 * time.Second: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f, leave := newFake(false, ""), time.Duration(0)
			dial := func(ctx context.Context, to wire.Target, receive func(wire.Event)) (wire.Conn, error) {
				leave = to.Leave
				return f.dial(ctx, to, receive)
			}
			if _, err := Run(t.Context(), targetOf(f), &Options{dial: dial, Patience: patience}); err != nil || leave != want {
				t.Errorf("patience %v: %v to leave: %v", patience, leave, err)
			}
		})
	}
}

// TestServerThatSaysNothing: what is told of changes is skipped then, and the probe does not wait for it time and again.
func TestServerThatSaysNothing(t *testing.T) {
	all, took := try(t, newFake(false, ""), false)
	skipped := []string{"untagged", "asked-only", "list-changed", "updated", "two-listens", "fifty-told", "stalled", "cancel-silent", "cancel-others"}
	if got := with(all, Skip); !slices.Equal(got, skipped) || len(with(all, Fail)) > 0 {
		t.Errorf("skipped are %v\n%s", got, details(all))
	}
	if took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestFaults: each fault is found under the rule that it breaks. Some break others too; one with a ? depends on who comes
// first.
func TestFaults(t *testing.T) {
	pipe, http := []bool{false}, []bool{true}
	both := []bool{false, true}
	for _, c := range []struct {
		fault string
		on    []bool
		rules string
	}{
		{"no acknowledgement", both, "acknowledged id-zero id-type id-digits fifty-open"},
		{"refuses", both, "acknowledged id-zero id-type id-digits"},
		{"acknowledgement is overtaken", both, "ack-first"},
		{"acknowledges twice", both, "ack-once"},
		{"grants more", both, "ack-subset ack-supported"},
		{"unsupported", both, "ack-supported"},
		{"declares nothing", both, "ack-supported"},
		{"0 is none", both, "id-zero"},
		{"ids become strings", pipe, "acknowledged ack-first? id-zero id-type id-digits tagged fifty-open"},
		{"ids become strings", http, "id-zero id-type id-digits tagged"},
		{"digits are lost", both, "id-digits"},
		{"cancels go by print", pipe, "id-type cancel-unanswered"},
		{"another's tag", http, "id-zero id-type id-digits tagged"},
		{"untagged", pipe, "untagged list-changed updated"},
		{"untagged", http, "id-zero id-type id-digits tagged"},
		{"broadcast", pipe, "untagged"},
		{"unasked", both, "asked-only"},
		{"progress", both, "no-progress"},
		{"garbage", both, "messages"},
		{"asks", both, "messages"},
		{"list is not told", both, "list-changed"},
		{"updates are not told", both, "updated"},
		{"second silences first", pipe, "two-listens fifty-told"},
		{"many are not taken", both, "fifty-open"},
		{"fifty are too many", both, "fifty-told"},
		{"listens block requests", both, "requests"},
		{"talks on", pipe, "id-type cancel-silent cancel-unanswered"},
		{"answers after cancel", pipe, "cancel-unanswered"},
		{"cancel ends all", pipe, "cancel-others completed"},
		{"unknown cancel is answered", pipe, "cancel-unknown"},
		{"leaks", both, "acknowledged frees"},
		{"slows down", both, "frees"},
		{"ends at once", pipe, "cancel-unanswered? stays-open"},
		{"ends at once", http, "stays-open"},
		{"malformed is taken", both, "malformed"},
		{"no completion", pipe, "completed"},
		{"completion without id", pipe, "completion"},
		{"stays", pipe, "leaves"},
	} {
		for _, http := range c.on {
			all, took := try(t, newFake(http, c.fault), true)
			broken := with(all, Fail)
			if !slices.Equal(broken, expected(c.rules, broken)) {
				t.Errorf("%s (HTTP: %v) breaks %v, want %q\n%s", c.fault, http, broken, c.rules, details(all))
			}
			if took > 2*time.Minute {
				t.Errorf("%s (HTTP: %v) took %v", c.fault, http, took)
			}
		}
	}
}

// expected are the rules that a fault breaks, with those that depend on who comes first if they are among the broken.
func expected(rules string, broken []string) (names []string) {
	for _, name := range strings.Fields(rules) {
		name, depends := strings.CutSuffix(name, "?")
		if !depends || slices.Contains(broken, name) {
			names = append(names, name)
		}
	}
	return names
}

// TestLimitIsNoFault: a server may refuse more listens than it wants to have, if it says so. Of two that it wants one only is a
// fault.
func TestLimitIsNoFault(t *testing.T) {
	for _, http := range []bool{false, true} {
		for limit, want := range map[int][]string{
			1: {"acknowledged", "id-zero", "id-type", "id-digits"}, 2: nil, 3: nil, 5: nil, 10: nil, 15: nil, 20: nil,
		} {
			f := newFake(http, "")
			f.limit = limit
			all, _ := try(t, f, true)
			skipped := with(all, Skip)
			if broken := with(all, Fail); !slices.Equal(broken, want) || !slices.Contains(skipped, "fifty-open") {
				t.Errorf("HTTP: %v: with a limit of %d broken is %v\n%s", http, limit, broken, details(all))
			}
			if limit > 1 && limit <= 10 && !slices.Contains(skipped, "acknowledged") {
				t.Errorf("HTTP: %v: a limit of %d is not told of\n%s", http, limit, details(all))
			}
		}
	}
}

// TestSlowServerBreaksNoRule: what comes late comes.
func TestSlowServerBreaksNoRule(t *testing.T) {
	for _, http := range []bool{false, true} {
		all, took := try(t, newFake(http, "is slow"), true)
		if broken := with(all, Fail); len(broken) > 0 || !slices.Contains(with(all, OK), "fifty-told") {
			t.Errorf("HTTP: %v: broken %v after %v\n%s", http, broken, took, details(all))
		}
	}
}

// TestChangesThatDoNotShowAreNoFault: what the server's answers do not show need not be told.
func TestChangesThatDoNotShowAreNoFault(t *testing.T) {
	all, _ := try(t, newFake(false, "changes do not show"), true)
	if broken := with(all, Fail); len(broken) > 0 || !slices.Contains(with(all, Skip), "list-changed") {
		t.Errorf("broken %v\n%s", broken, details(all))
	}
}

// TestUnlistedIsToldOnce: the server serves something else than what the probe changes.
func TestUnlistedIsToldOnce(t *testing.T) {
	for fault, want := range map[string]int{"changes do not show": 1, "": 0} {
		synctest.Test(t, func(t *testing.T) {
			f, told := newFake(false, fault), 0
			if _, err := Run(t.Context(), targetOf(f), &Options{dial: f.dial, World: f, Unlisted: func() { told++ }}); err != nil || told != want {
				t.Errorf("%q: told %d times: %v", fault, told, err)
			}
		})
	}
}

// TestTimeIsTheReason: what was not tried for want of time is skipped for that reason, and nothing else is.
func TestTimeIsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(true, "is slow")
		found, err := Run(t.Context(), targetOf(f), &Options{dial: f.dial, baggage: 10, World: f, Bound: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		const why = "the time was over after 5s, before all was tried: "
		for _, f := range found {
			known := slices.Contains(onHTTP, f.Name) && f.Name != "stalled"
			if late := strings.HasPrefix(f.Detail, why); f.Outcome == Fail || late != (f.Outcome == Skip && !known) {
				t.Errorf("%v %s: %s", f.Outcome, f.Name, f.Detail)
			}
		}
		if skipped := with(found, Skip); len(skipped) == len(found) || !slices.Contains(skipped, "frees") {
			t.Errorf("skipped: %v", skipped)
		}
	})
}

func TestServerThatCannotBeTested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(false, "another time")
		if _, err := Run(t.Context(), targetOf(f), &Options{dial: f.dial}); !errors.Is(err, ErrNotModern) {
			t.Errorf("a server of another time: %v", err)
		}
		f = newFake(false, "does not start")
		if _, err := Run(t.Context(), targetOf(f), &Options{dial: f.dial}); err == nil || err.Error() != "no such program" {
			t.Errorf("one that does not start: %v", err)
		}
		for patience, want := range map[time.Duration]string{time.Second: "1s", 3 * time.Minute: "2m0s"} {
			f = newFake(false, "says nothing")
			_, err := Run(t.Context(), targetOf(f), &Options{dial: f.dial, Patience: patience})
			if err == nil || err.Error() != "the server has not answered server/discover within "+want {
				t.Errorf("one that says nothing, with a patience of %v: %v", patience, err)
			}
		}
		for _, http := range []bool{false, true} {
			f = newFake(http, "huge: answer to server/discover")
			if _, err := Run(t.Context(), targetOf(f), &Options{dial: f.dial}); err == nil || err.Error() != "the answer to server/discover cannot be taken: the server sent what is no message: it is too long" {
				t.Errorf("one that says too much at once (HTTP: %v): %v", http, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		f = newFake(false, "")
		if _, err := Run(ctx, targetOf(f), &Options{dial: f.dial, World: f}); err == nil || f.texts != nil {
			t.Errorf("interrupted: %v; taken away: %v", err, f.texts == nil)
		}
	})
}

// TestWhatIsLeftBehindIsTold: whatever else went wrong.
func TestWhatIsLeftBehindIsTold(t *testing.T) {
	for fault, want := range map[string]string{"": "interrupted before all was tried; left behind", "another time": "unknown method (-32601); left behind"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			f := newFake(false, fault)
			if _, err := Run(ctx, targetOf(f), &Options{dial: f.dial, World: lasting{f}}); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// lasting is a world from which nothing can be taken away.
type lasting struct{ *fake }

func (lasting) Clear() error { return errors.New("left behind") }

// TestServerThatTalksOnAndOnIsGivenUp: what it says is kept, so that there is an end to that.
func TestServerThatTalksOnAndOnIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(false, "")
		kept := 0
		flood := func(ctx context.Context, to wire.Target, receive func(wire.Event)) (wire.Conn, error) {
			said := &wire.Message{Method: "notifications/x", Raw: []byte(`{"method":"notifications/x","params":"` + strings.Repeat("x", 1000) + `"}`)}
			for range 10_000 {
				receive(wire.Event{Message: said})
			}
			return f.dial(ctx, to, receive)
		}
		_, err := Run(t.Context(), targetOf(f), &Options{dial: flood, room: 1 << 20, Trace: func(Entry) { kept++ }})
		if err == nil || !strings.Contains(err.Error(), "said more than 1 MiB") || kept > 1000 {
			t.Errorf("%d entries, %v", kept, err)
		}
	})
}
