package verify

import (
	"fmt"
	"strings"
	"testing"
)

// crowdOf is a script in which n listens are opened, and those from the first silent one on hear nothing of a change.
func crowdOf(n, silent int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "> listen %d list crowd\n< ack %d list\n", 100+i, 100+i)
	}
	s.WriteString("change list\nshown\n")
	for i := range silent {
		fmt.Fprintf(&s, "< list %d\n", 100+i)
	}
	s.WriteString("wait 11s\nsettled\n")
	return s.String()
}

// cutOf is a script in which n listens are opened and cut, and what follows.
func cutOf(n int, before, after string) string {
	var s strings.Builder
	s.WriteString(before)
	for i := range n {
		fmt.Fprintf(&s, "> listen %d list cut\n< ack %d list\ncancel %d\n", 100+i, 100+i, 100+i)
	}
	return s.String() + after
}

// two is how two listens for the list are opened.
const two = "> listen 5 list\n< ack 5 list\n> listen 6 list\n< ack 6 list\n"

// stall is a script in which a connection is stalled while what is in between happens.
func stall(between string) string {
	long := `2/9< raw {"jsonrpc":"2.0","method":"notifications/example/long","params":{"x":"` + strings.Repeat("x", enough) + `"}}` + "\n"
	return "> listen 5 list\n5< ack 5 list\n2/> listen 9 list baggage\nchange list\nshown\n5< list 5\nsettled\n" +
		"2/stalled\n" + between + "2/released\n" + long
}

var ruleCases = []struct {
	rule   string
	http   bool
	keeps  []string
	breaks []string
	skips  []string
}{
	{rule: "acknowledged",
		keeps:  []string{"> listen 5 list\n< ack 5 list", "> listen 5 list\n< ack 5 list\n> listen 6 list\ncancel 6\n< error 6"},
		breaks: []string{"> listen 5 list\nwait 10s\ngaveup 5", "> listen 5 list\n< error 5", "> listen 5 list\n< result 5 5", "> listen 5 list\nend crashed"},
		skips:  []string{"> listen 5 list", "> listen 5 list\ndropped\nend crashed"}},
	{rule: "acknowledged", // beside more than one it may be refused for a limit
		breaks: []string{"> listen 5 list\n< ack 5 list\n> listen 6 list\n< error 6 limit", two + "> listen 7 list\n< error 7",
			two + "cancel 6\n> listen 7 list\n< error 7 limit", two + "> listen 7 list\n< error 7 limit\n> listen 8 list\n< error 8"},
		skips: []string{two + "> listen 7 list\n< error 7 limit", "> listen 7 list\n" + two + "< error 7 limit"}},
	{rule: "acknowledged", http: true,
		keeps:  []string{"> listen 5 list\n5< ack 5 list\n5 end cut"},
		breaks: []string{"> listen 5 list\n5 end status", two + "> listen 7 list\n7 end status", "> listen 5 list\n5< ack 5 list\n> listen 6 list\n6 end busy"},
		skips:  []string{two + "> listen 7 list\n7 end busy"}},
	{rule: "ack-first",
		keeps:  []string{"> listen 5 list\n< ack 5 list\n< list 5", "> listen 5 list\n> listen 6 list\n< ack 6 list\n< list 6\n< ack 5 list"},
		breaks: []string{"> listen 5 list\n< list 5\n< ack 5 list", "> listen 5 none\n< result 5 5\n< ack 5 none"}},
	{rule: "ack-once",
		keeps:  []string{"> listen 5 list\n< ack 5 list"},
		breaks: []string{"> listen 5 list\n< ack 5 list\n< ack 5 list"}},
	{rule: "ack-subset",
		keeps:  []string{"> listen 5 list,test://a\n< ack 5 test://a", "> listen 5 list\n< ack 5 none"},
		breaks: []string{"> listen 5 list\n< ack 5 list,tools", "> listen 5 test://a\n< ack 5 test://A", "> listen 5 list\n< ack! 5"}},
	{rule: "ack-supported",
		keeps:  []string{"> listen 5 tools,list\n< ack 5 list"},
		breaks: []string{"> listen 5 tools,list\n< ack 5 tools,list"},
		skips:  []string{"> listen 5 list\n< ack 5 list"}},
	{rule: "id-zero",
		keeps:  []string{"> listen 0 list identity\n< ack 0 list"},
		breaks: []string{"> listen 0 list identity\nwait 10s\ngaveup 0", "> listen 0 list identity\n< ack 0 list\ncancel 0\nheard\n< list 0"},
		skips:  []string{"> listen 1 list identity\n< ack 1 list", two + "> listen 0 list identity\n< error 0 limit"}},
	{rule: "id-zero", http: true,
		breaks: []string{"> listen 0 list identity\n0< ack - list"}},
	{rule: "id-type",
		keeps: []string{"> listen 1 list identity\n> listen \"1\" list identity\n< ack 1 list\n< ack \"1\" list\ncancel 1\nheard\n< list \"1\"",
			"> listen 1 list identity\n> listen \"1\" list identity\n< ack 1 list\n< ack \"1\" list\ncancel 1\nheard\nclosing\n< result \"1\" \"1\"",
			"> listen 1 list identity\n> listen \"1\" list identity\n< ack 1 list\n< ack \"1\" list\ncancel 1\nheard\ndropped\n< result \"1\" \"1\""},
		breaks: []string{"> listen 1 list identity\n< ack \"1\" list\nwait 10s\ngaveup 1",
			"> listen 1 list identity\n> listen \"1\" list identity\n< ack 1 list\n< error \"1\"",
			"> listen 1 list identity\n> listen \"1\" list identity\n< ack 1 list\n< ack \"1\" list\ncancel 1\n< result \"1\" \"1\"\nheard"}},
	{rule: "id-digits",
		keeps:  []string{"> listen 9007199254740993 list identity\n< ack 9007199254740993 list"},
		breaks: []string{"> listen 9007199254740993 list identity\n< ack 9007199254740992 list\nwait 10s\ngaveup 9007199254740993"}},
	{rule: "id-digits", http: true,
		breaks: []string{"> listen 9007199254740993 list identity\n9007199254740993< ack 9.007199254740992e+15 list"}},
	{rule: "tagged",
		keeps:  []string{"> listen 5 list\n< ack 5 list\n< list 5", "> listen \"a\" list\n< ack \"\\u0061\" list"},
		breaks: []string{"> listen 5 list\n< ack 5 list\n< list 77", "> listen 5 list\n< ack 5 list\n> listen 6 list\n< ack - list"}},
	{rule: "tagged", http: true,
		keeps:  []string{"> listen 5 list\n5< ack 5 list\n5< list 5"},
		breaks: []string{"> listen 5 list\n5< ack 5 list\n5< list -", "> listen 5 list\n5< ack 5 list\n> listen 6 list\n6< ack 5 list"}},
	{rule: "untagged",
		keeps:  []string{"> listen 5 list\n< ack 5 list\n< list 5", "change list\nshown\nsettled"},
		breaks: []string{"< list -", "> listen 5 list\n< ack 5 list\n< list 5\n< updated - test://a"},
		skips:  []string{"> listen 5 list\n< ack 5 list"}},
	{rule: "untagged", http: true,
		breaks: []string{"> ask 5\n5< list -"}},
	{rule: "asked-only",
		keeps: []string{two + "> listen 7 test://a\n< ack 7 test://a\n< list 5", "> listen 5 test://a\n< ack 5 test://a\n> listen 6 list\n< ack 6 list\n< updated 5 test://a/b"},
		breaks: []string{"> listen 5 test://a\n< ack 5 test://a\n< list 5", "> listen 5 list\n< ack 5 list\n< odd 5", "> listen 5 tools,list\n< ack 5 list\n< tools 5",
			"> listen 5 test://a\n< ack 5 test://a\n> listen 6 test://b\n< ack 6 test://b\n< updated 5 test://b"},
		skips: []string{two + "< list 5\n< list 6"}},
	{rule: "no-progress",
		keeps:  []string{"> listen 5 list\n< ack 5 list\n< list 5"},
		breaks: []string{"> listen 5 list\n< ack 5 list\n< progress 5"}},
	{rule: "messages",
		keeps: []string{"> ask 5\n< result 5", "> ask 5\n< result 5\ndropped\ngarbage\nend killed",
			"> ask 5\n< result 5\nclosing\ngarbage\nend killed\nclosed forced", "> ask 5\n< result 5\nclosing\ngarbage\nend killed", "> ask 5\n< result 5\n> ask 6\nlong 6", "> listen 5 list\n< raw {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}"},
		breaks: []string{"garbage", "garbage\ndropped", "closing\ngarbage\nend\nclosed", `< raw {"method":"ping","id":1}`, `< raw {"method":"notifications/cancelled","params":{"requestId":8}}`, "> ask 5\n< result 5\n< result 5",
			"> ask 5\n< result 6"}},
	{rule: "messages", http: true,
		breaks: []string{"> ask 5\n5< result 6"}},
	{rule: "list-changed",
		keeps:  []string{two + "change list\nshown\n< list 5\n< list 6\nsettled"},
		breaks: []string{two + "change list\nshown\nwait 11s\nsettled"},
		skips:  []string{two + "change list\nwait 11s\nsettled", two + "own\n< list 5\n< list 6\nsettled", two + "change list\nshown\nwait 1s\nsettled"}},
	{rule: "updated",
		keeps:  []string{"> listen 5 test://a\n< ack 5 test://a\nchange test://a\nshown\n< updated 5 test://a\nsettled"},
		breaks: []string{"> listen 5 test://a\n< ack 5 test://a\nchange test://a\nshown\n< updated 5 test://b\nwait 11s\nsettled"},
		skips:  []string{"> listen 5 test://a\n< ack 5 none\nchange test://a\nshown\nwait 11s\nsettled"}},
	{rule: "two-listens",
		keeps: []string{"> listen 5 test://a\n< ack 5 test://a\n> listen 6 test://a,test://a/b\n< ack 6 test://a,test://a/b\n> listen 7 test://a/b\n< ack 7 test://a/b\n" +
			"own\n< updated 6 test://a/b\n< updated 7 test://a/b\nwait 11s\nsettled",
			two + "change list\nshown\n< list 5\n< list 6\nsettled", two + "own\n< list 6\n< list 5\nsettled", two + "< list 6\nown\nwait 11s\n< list 5\n< list 6\nwait 11s\nsettled"},
		breaks: []string{"> listen 5 test://a\n< ack 5 test://a\n> listen 6 test://a\n< ack 6 test://a\nown\nwait 11s\n< updated 6 test://a/b\nwait 11s\nsettled",
			two + "change list\nshown\n< list 6\nwait 11s\nsettled", two + "own\nwait 11s\n< list 6\nwait 11s\nsettled",
			two + "own\n< list 5\n< list 6\nwait 11s\nown\n< list 5\nwait 11s\nsettled", two + "own\n< list 5\nwait 10s\n< list 5\nwait 11s\n< list 5\nsettled"},
		skips: []string{two, two + "< list 6\nown\n< list 5\nwait 11s\nsettled", two + "own\n< list 5\nwait 8s\n< list 5\nwait 11s\nsettled",
			two + "wait 11s\n< list 6\nown\nwait 8s\n< list 5\nwait 11s\nsettled", two + "own\n< list 6\nwait 1s\nsettled", "> listen 5 list\n< ack 5 list\nchange list\nshown\n< list 5\nsettled"}},
	{rule: "fifty-open",
		keeps:  []string{crowdOf(50, 50)},
		breaks: []string{crowdOf(50, 50) + "> listen 5 list crowd\nwait 10s\ngaveup 5"},
		skips:  []string{crowdOf(49, 49), crowdOf(49, 49) + "> listen 5 list crowd\n< error 5"}},
	{rule: "fifty-told",
		keeps:  []string{crowdOf(50, 50)},
		breaks: []string{crowdOf(50, 49), two + "change list\nshown\n< list 5\n< list 6\nsettled\n" + crowdOf(50, 0)},
		skips:  []string{crowdOf(50, 0)}},
	{rule: "requests",
		keeps:  []string{"> listen 5 list\n< ack 5 list\n> ask 7\n< result 7"},
		breaks: []string{"> listen 5 list\n< ack 5 list\n> ask 7\nwait 10s\ngaveup 7"},
		skips:  []string{"> ask 7\n< result 7"}},
	{rule: "stalled", http: true,
		keeps: []string{stall("> ask 7\n7< result 7\nchange list\nshown\n5< list 5\nsettled\n"),
			stall("2/9< ack 9 list\n> ask 7\n7< result 7\nchange list\nshown\n5< list 5\nwait 11s\nsettled\n")},
		breaks: []string{stall("> ask 7\nwait 10s\ngaveup 7\n"), stall("> listen 6 list\nwait 10s\ngaveup 6\n"), stall("change list\nshown\nwait 11s\nsettled\n"),
			stall(strings.Repeat("5< list 5\n", 10)) + "2/stalled\nown\nwait 11s\nsettled\n2/released\n5< list 5\n"},
		skips: []string{stall(strings.Repeat("5< list 5\n", 10)) + "2/stalled\nown\nwait 11s\nsettled\n2/released\nwait 1s\n5< list 5\n",
			stall(strings.Repeat("5< list 5\n", 10)) + "wait 10s\n2/stalled\nown\nwait 11s\nsettled\n2/released\n5< list 5\n",
			"2/stalled\n> ask 7\n7< result 7\n2/released", "> ask 7\n7< result 7"}},
	{rule: "stalled", skips: []string{"> ask 7\n< result 7"}},
	{rule: "cancel-silent",
		keeps:  []string{two + "cancel 6\n< list 6\nheard\nchange list\nshown\n< list 5\nsettled"},
		breaks: []string{two + "cancel 6\nheard\n< list 6"},
		skips:  []string{two + "cancel 6\nheard"}},
	{rule: "cancel-silent", http: true, skips: []string{two + "cancel 6\nheard"}},
	{rule: "cancel-unanswered",
		keeps:  []string{two + "cancel 6\nheard"},
		breaks: []string{two + "cancel 6\n< result 6 6\nheard", "> listen 5 list\ncancel 5\n< result 5 5"},
		skips:  []string{two, "> listen 5 list\ncancel 5\n< error 5", "> listen 5 list\n< ack 5 none\ncancel 5\n< result 5 5\nheard"}},
	{rule: "cancel-others",
		keeps: []string{two + "change list\nshown\n< list 5\n< list 6\nsettled\ncancel 6\nheard\nchange list\nshown\n< list 5\nsettled"},
		breaks: []string{two + "change list\nshown\n< list 5\n< list 6\nsettled\ncancel 6\nheard\nchange list\nshown\nwait 11s\nsettled",
			two + "own\n< list 5\n< list 6\nsettled\ncancel 6\nheard\nchange list\nshown\nwait 11s\nsettled"},
		skips: []string{two + "cancel 6\nheard\nchange list\nshown\nwait 11s\nsettled"}},
	{rule: "cancel-unknown",
		keeps:  []string{"cancel 77\nheard"},
		breaks: []string{"cancel 77\n< error 77\nheard"},
		skips:  []string{"cancel 77", two + "cancel 6\nheard"}},
	{rule: "frees",
		keeps: []string{cutOf(many, "> ask 1 early\n< result 1\n", "> ask 2 late\n< result 2\n> listen 3 list late\n< ack 3 list"),
			cutOf(many, "> ask 1 early\n< result 1\n", "> ask 2 late\nwait 2s\n< result 2\n> ask 3 late\n< result 3"),
			cutOf(many, "> ask 1 early\nwait 1s\n< result 1\n> ask 4 early\n< result 4\n> ask 5 early\n< result 5\n", "> ask 2 late\nwait 2s\n< result 2")},
		breaks: []string{cutOf(many, "> ask 1 early\n< result 1\n", "> ask 2 late\nwait 2s\n< result 2\n> ask 3 late\nwait 2s\n< result 3"),
			cutOf(many, "", "> ask 2 late\n< result 2\n> listen 3 list late\n< error 3"),
			cutOf(many, "", "> ask 2 late\nwait 10s\ngaveup 2"),
			cutOf(40, "", "> listen 5 list cut\n< error 5\n> ask 2 late\n< result 2\n> listen 3 list late\n< error 3")},
		skips: []string{cutOf(40, "", "> ask 2 late\n< result 2\n> listen 3 list late\n< error 3\n> listen 4 list late\n< ack 4 list"),
			cutOf(0, "", "> ask 2 late\n< result 2\n> listen 3 list late\n< error 3")}},
	{rule: "stays-open",
		keeps:  []string{"> listen 5 list\n< ack 5 list", "> listen 5 none\n< ack 5 none\n< result 5 5\n" + two, "> listen 5 list\n< ack 5 list\nwait 30s\n< result 5 5", two + "closing\n< result 5 5", two + "dropped\n< result 5 5"},
		breaks: []string{"> listen 5 list\n< ack 5 list\n< result 5 5"}},
	{rule: "stays-open", http: true,
		keeps:  []string{"> listen 5 list\n5< ack 5 list\ncancel 5\n5 end", two + "2/> listen 7 list baggage\n2/stalled\n2/released\n2/7< ack 7 list\n2/7 end cut"},
		breaks: []string{"> listen 5 list\n5< ack 5 list\n5 end"}},
	{rule: "malformed",
		keeps:  []string{"> listen 5 - malformed\n< error 5"},
		breaks: []string{"> listen 5 - malformed\n< ack 5 none", "> listen 5 true malformed\n< result 5 5", "> listen 5 true malformed\nwait 10s\ngaveup 5"},
		skips:  []string{two + "> listen 7 - malformed\n< error 7 limit"}},
	{rule: "malformed", http: true,
		keeps: []string{"> listen 5 - malformed\n5 end status"}},
	{rule: "completed",
		keeps:  []string{two + "closing\n< result 5 5\n< result 6 6\nclosed", two + "closing\n< result 5 5"},
		breaks: []string{two + "closing\n< result 5 5\nclosed", two + "closing\n< error 5\n< result 6 6\nclosed"},
		skips:  []string{two + "cancel 5\ncancel 6\nclosing\nclosed", two + "dropped", two + "closing\nend killed"}},
	{rule: "completion",
		keeps:  []string{two + "closing\n< result 5 5\nclosed"},
		breaks: []string{two + "closing\n< result 5\nclosed", two + "closing\n< result 5 6\nclosed", two + `closing` + "\n" + `< raw {"id":5,"result":{}}`}},
	{rule: "completion", http: true,
		breaks: []string{two + "> listen 7 list\n7< ack 7 list\nwait 30s\n7< result 8 7"}},
	{rule: "leaves",
		keeps:  []string{"closing\nend\nclosed", "closing\nclosed crashed"},
		breaks: []string{"closing\nclosed forced"},
		skips:  []string{"dropped"}},
}

// TestRules: each rule has a recording that keeps it and one that breaks it.
func TestRules(t *testing.T) {
	kept, broken := map[string]bool{}, map[string]bool{}
	for _, c := range ruleCases {
		for outcome, scripts := range map[Outcome][]string{OK: c.keeps, Fail: c.breaks, Skip: c.skips} {
			for _, script := range scripts {
				kept[c.rule] = kept[c.rule] || outcome == OK
				broken[c.rule] = broken[c.rule] || outcome == Fail
				f := findingOf(t, c.rule, recordingOf(t, c.http, script))
				if f.Outcome != outcome {
					t.Errorf("%s (HTTP: %v) is %v, want %v, by\n%.1000s\n%s", c.rule, c.http, f.Outcome, outcome, script, f.Detail)
				}
				if (f.Detail == "") != (outcome == OK) {
					t.Errorf("%s is %v with the detail %q", c.rule, f.Outcome, f.Detail)
				}
			}
		}
	}
	for _, r := range Rules() {
		if !kept[r.Name] || !broken[r.Name] {
			t.Errorf("%s: a recording that keeps it: %v, one that breaks it: %v", r.Name, kept[r.Name], broken[r.Name])
		}
	}
}

func findingOf(t *testing.T, rule string, rec *Recording) Finding {
	t.Helper()
	for _, f := range Judge(rec) {
		if f.Name == rule {
			return f
		}
	}
	t.Fatalf("no rule is called %s", rule)
	return Finding{}
}

// TestNothingIsKeptForWantOfACase: of a recording of nothing every rule is skipped, and says why.
func TestNothingIsKeptForWantOfACase(t *testing.T) {
	for _, http := range []bool{false, true} {
		for _, f := range Judge(recordingOf(t, http, "")) {
			if f.Outcome != Skip || f.Detail == "" {
				t.Errorf("%s is %v: %s", f.Name, f.Outcome, f.Detail)
			}
		}
	}
}

func TestRulesSayWhatAndWhere(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Name == "" || seen[r.Name] || r.Says == "" || !strings.Contains(r.Place, ", ") || strings.HasSuffix(r.Says, ".") {
			t.Errorf("%+v", r)
		}
		seen[r.Name] = true
	}
}

// TestWhatIsMalformedGrantsNothing: else it would depend on the order in which its members are looked at.
func TestWhatIsMalformedGrantsNothing(t *testing.T) {
	for range 100 {
		f, err := parseFilter([]byte(`{"resourcesListChanged":true,"toolsListChanged":1,"promptsListChanged":true,"resourceSubscriptions":["a"]}`))
		if err == nil || !f.isEmpty() {
			t.Fatalf("%+v, %v", f, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		same  bool
		alike bool
	}{
		{`1`, `1`, true, true}, {`1`, `"1"`, false, true}, {`1`, `1.0`, true, true}, {`"a"`, `"\u0061"`, true, true}, {`0`, `-0`, true, true},
		{`9007199254740993`, `9007199254740992`, false, true}, {`9007199254740993`, `9.007199254740992e+15`, false, true},
		{`1`, `2`, false, false}, {`"a"`, `"b"`, false, false}, {`null`, `0`, false, false}, {`1`, `1e1000000000000`, false, false},
	} {
		if got := identity([]byte(c.a)) == identity([]byte(c.b)); got != c.same {
			t.Errorf("%s and %s are one id: %v", c.a, c.b, got)
		}
		if got := looksAlike([]byte(c.a), []byte(c.b)); got != c.alike {
			t.Errorf("%s and %s look alike: %v", c.a, c.b, got)
		}
	}
}

// TestWhyUntold: what was not put to the test says what has kept it from that.
func TestWhyUntold(t *testing.T) {
	const listening = "> listen 5 test://a\n< ack 5 test://a\n"
	for _, c := range []struct{ script, want string }{
		{listening, "it is not known when something changes"},
		{listening + "own\nwait 11s\nsettled", "it is not known when something changes"},
		{"> listen 5 test://a\n< ack 5 none\nchange test://a\nshown\nwait 11s\nsettled", "no listen for it was acknowledged, though the capabilities say resources.subscribe: true"},
		{"> listen 5 list\n< ack 5 list\nchange test://a\nshown\nwait 11s\nsettled", "no listen for it was acknowledged, though the capabilities say resources.subscribe: true"},
		{listening + "change test://a\nwait 11s\nsettled", "the server's answers showed no change"},
		{listening + "change test://a\nrestless\nwait 11s\nsettled", "the server's answers are different each time, so that they cannot show a change"},
		{listening + "change test://a\nrestless\nchange test://b\nwait 11s\nsettled", "the server's answers showed no change"},
		{listening + "change test://a\nshown\nwait 1s\nsettled", "the server's answers showed a change, but no listen for it was open long enough"},
	} {
		got := look(recordingOf(t, false, c.script)).checkTold(updated)
		if got.outcome != Skip || got.detail != c.want {
			t.Errorf("%s\n%v: %s, want %s", c.script, got.outcome, got.detail, c.want)
		}
	}
	rec := recordingOf(t, false, "> listen 5 test://a\n< ack 5 none\nchange list\nshown\nwait 11s\nsettled")
	if got := look(rec).checkTold(resourcesChanged); got.detail != "no listen for it was acknowledged, though the capabilities say resources.listChanged: true" {
		t.Error(got)
	}
	rec.Serves.Resources = false
	if got := look(rec).checkTold(resourcesChanged); got.detail != "no listen for it was acknowledged" {
		t.Error(got)
	}
	if got := checkStaysOpen(look(recordingOf(t, false, "> listen 5 list\n< ack 5 none\n< result 5 5"))); got.detail != "no listen was acknowledged with anything honoured" {
		t.Error(got)
	}
}

// BenchmarkJudge is about a server that tells fifty listens of a thousand resources beneath one: each more is to cost the same.
func BenchmarkJudge(b *testing.B) {
	var s strings.Builder
	for i := range fifty {
		fmt.Fprintf(&s, "> listen %d test://a/ crowd\n< ack %d test://a/\n", 100+i, 100+i)
	}
	s.WriteString("own\n")
	for n := range 1000 {
		for i := range fifty {
			fmt.Fprintf(&s, "< updated %d test://a/%d\n", 100+i, n)
		}
	}
	rec := recordingOf(b, false, s.String()+"wait 11s\nsettled\n")
	for b.Loop() {
		Judge(rec)
	}
}
