package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// verdict is a line of mcp-fsserve verify --json.
type verdict struct{ Rule, Result, Detail string }

// verify puts a server to the test, and returns its verdict on each rule.
func verify(t *testing.T, args ...string) map[string]verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, program("mcp-fsserve"), append([]string{"verify", "--json"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	rules, broken := map[string]verdict{}, false
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var v verdict
		if err := lines.Decode(&v); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("verify says what is no verdict: %v\n%s", err, out)
		}
		rules[v.Rule] = v
		broken = broken || v.Result == "fail"
	}
	if status := command.ProcessState.ExitCode(); len(rules) == 0 || broken != (status == 1) || !broken && status != 0 {
		t.Fatalf("verify ends with %v:\n%s%s", err, out, &stderr)
	}
	return rules
}

// Rules that are put to the test with a server that does things by itself: on pipes and over HTTP, and on pipes alone.
var (
	tested = strings.Fields(`acknowledged ack-first ack-once ack-subset ack-supported id-zero id-type id-digits tagged untagged
		asked-only updated two-listens fifty-open fifty-told requests cancel-others frees stays-open malformed completion`)
	testedOnPipes = strings.Fields(`cancel-silent cancel-unanswered cancel-unknown completed leaves`)
)

// TestIntercepted: with the interceptor no rule is broken, and those that can be put to the test have been.
func TestIntercepted(t *testing.T) {
	check := func(t *testing.T, rules map[string]verdict, tested []string) {
		t.Helper()
		for _, v := range rules {
			if v.Result == "fail" {
				t.Errorf("%s is broken: %s", v.Rule, v.Detail)
			}
		}
		for _, rule := range tested {
			if v := rules[rule]; v.Result == "skip" || v.Result == "" {
				t.Errorf("%s was not put to the test: %s", rule, v.Detail)
			}
		}
	}
	for _, name := range []string{"go-sdk", "mcp-go"} {
		t.Run(name+"/pipe", func(t *testing.T) {
			t.Parallel()
			check(t, verify(t, "--", program(name), "--interval", "100ms"), slices.Concat(tested, testedOnPipes))
		})
		t.Run(name+"/http", func(t *testing.T) {
			t.Parallel()
			check(t, verify(t, overHTTP(t, name, "--interval", "100ms")), tested)
		})
	}
	for _, name := range []string{"clock", "plain"} {
		t.Run(name+"/pipe", func(t *testing.T) {
			t.Parallel()
			check(t, verify(t, "--", program(name)), slices.Concat(tested, testedOnPipes))
		})
	}
}

// bareMCPGo is what mcp-go breaks on a pipe, in the order of the rules.
const bareMCPGo = "id-digits untagged list-changed updated cancel-unanswered malformed"

// TestBare says what the libraries do without the interceptor. A library that does better in a new version is good news:
// then its rules go from here. Of what depends on who comes first, such as an event before its acknowledgement, nothing is
// said, since it need not show.
func TestBare(t *testing.T) {
	const soon = "3s" // for what never comes
	check := func(t *testing.T, rules map[string]verdict, broken string) {
		t.Helper()
		for _, rule := range strings.Fields(broken) {
			if v := rules[rule]; v.Result != "fail" {
				t.Errorf("%s is not broken, but %q: %s", rule, v.Result, v.Detail)
			}
		}
		for _, v := range rules {
			if v.Result == "fail" {
				t.Logf("%s: %s", v.Rule, v.Detail)
			}
		}
	}
	for _, server := range []struct{ name, onPipes, overHTTP string }{
		{
			name: "go-sdk",
			// Of listens that overlap on one pipe the last gets everything. A cancelled listen is answered, one that the server
			// ends is not.
			onPipes: "two-listens fifty-told id-digits cancel-unanswered completed",
			// A listen has a session of its own there, but one that is not read holds up all.
			overHTTP: "stalled id-digits",
		},
		{
			name: "mcp-go",
			// Every change is told to everybody on the pipe, and in no listen's name.
			onPipes: bareMCPGo,
			// Changes of resources are acknowledged and not told.
			overHTTP: "updated id-digits malformed",
		},
	} {
		t.Run(server.name+"/pipe", func(t *testing.T) {
			t.Parallel()
			check(t, verify(t, "--patience", soon, "--wait", soon, "--", program(server.name), "--bare", "--interval", "100ms"), server.onPipes)
		})
		t.Run(server.name+"/http", func(t *testing.T) {
			t.Parallel()
			check(t, verify(t, "--patience", soon, "--wait", soon, overHTTP(t, server.name, "--bare", "--interval", "100ms")), server.overHTTP)
		})
	}
}
