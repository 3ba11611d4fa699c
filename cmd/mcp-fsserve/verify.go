package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/verify"
)

// verifying are the flags of verify.
type verifying struct {
	asJSON         bool
	touch          string // where to change files; empty: nowhere
	wait, patience time.Duration
}

func (s *verifying) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.asJSON, "json", false, "print one JSON object a line")
	f.Var(&filename{"--touch-root", &s.touch, "DIR"}, "touch-root", "make, change and remove files of this program's own in DIR, which the server must serve")
	f.Var(&duration{"--wait", &s.wait, time.Millisecond}, "wait", "how long to wait for changes of the server's own, without --touch-root")
	f.Var(&duration{"--patience", &s.patience, time.Millisecond}, "patience", "how long the server may take for anything before that counts as missing")
}

func (p *program) verifyCommand() *cobra.Command {
	form := verifying{wait: 10 * time.Second, patience: 10 * time.Second}
	var show bearer
	cmd := &cobra.Command{
		Use:   "verify [flags] [NAME=]DIR...|URL|-- COMMAND [ARG]...",
		Short: "Check the listens of any MCP server",

		SuggestFor: []string{"check", "test", "validate", "conformance", "lint"},
		Long: `Put the subscriptions/listen of a server to the test, as revision 2026-07-28 of
the protocol has it, and print one line a rule: whether it is kept, what it
says, and where the specification says so. The server is a command, which is
started anew when it has become stuck, a URL, or this program on directories.

  ok    the rule was put to the test and is kept
  FAIL  it is broken; the next line says what came or did not come
  skip  it could not be put to the test; the next line says why

What is told of changes can be tested fully only if something changes: with
--touch-root files in a directory that the server serves, else what the server
changes by itself while it is watched. Only files whose names begin with
mcp-fsserve-verify are made, and they are removed.

With --json each line is an object with the members "rule", "result" ("ok",
"fail" or "skip"), "says", "place" and, unless it is ok, "detail".

A server may take its time: what has not come within --patience counts as
missing. All of it takes a few seconds as a rule, and two minutes at most: what
was not tried until then is skip, and says so. With --log-level debug each
message is shown.

The exit status is 0 if no rule is broken, 1 if one is or the server cannot be
tested, and 2 after wrong usage.`,
		Example: `  mcp-fsserve verify --touch-root ~/notes ~/notes
  mcp-fsserve verify -- npx -y some-server ~/notes
  mcp-fsserve verify --touch-root ~/notes -- npx -y some-server ~/notes
  mcp-fsserve verify --token-file ~/.mcp-token https://docs.example.com/mcp
  mcp-fsserve verify --json . | jq -r 'select(.result == "fail").rule'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := p.target(cmd, args, &show)
			if err != nil {
				return err
			}
			return p.verify(cmd.Context(), t, form)
		},
		ValidArgsFunction: completeTarget,
	}
	group(cmd, groupTest, form.flags)
	group(cmd, groupServer, show.flags)
	p.addSettings(cmd)
	group(cmd, groupChanges, p.settings.watching)
	return cmd
}

func (p *program) verify(ctx context.Context, t *target, form verifying) error {
	if len(t.beside) > 0 {
		return usageError("name one server: directories, or a URL, or a command after --", "what is this for: %s", withoutUser(t.beside[0]))
	}
	to, err := t.wire(p)
	if err != nil {
		return err
	}
	log := p.logger()
	opts := &verify.Options{Wait: form.wait, Patience: form.patience, Trace: tracer(ctx, log),
		Client: mcp.Implementation{Name: "mcp-fsserve-verify", Version: programVersion()}}
	if form.touch != "" {
		dir, err := verify.OpenDirectory(form.touch)
		if err != nil {
			return usageError("name a directory that the server serves", "--touch-root: %w", withoutOp(err))
		}
		opts.World, opts.Unlisted = dir, func() {
			log.Warn("the server does not list the files made in "+oneLine(form.touch)+", so it is tested without them",
				hintKey, "name a directory that the server serves, and no .txt file of which it hides, or give it time: --patience 1m")
		}
	}
	found, err := verify.Run(ctx, to, opts)
	if err != nil {
		return explainTarget(t, err)
	}
	return printFindings(p.stdout, found, form.asJSON)
}

// withoutOp leaves out the name of the system call.
func withoutOp(err error) error {
	if named := (*os.PathError)(nil); errors.As(err, &named) {
		return fmt.Errorf("%s: %w", named.Path, named.Err)
	}
	return err
}

// printFindings prints what was found, and is an error if a rule is broken.
func printFindings(out io.Writer, found []verify.Finding, asJSON bool) error {
	broken, skipped := 0, 0
	for _, f := range found {
		switch f.Outcome {
		case verify.Fail:
			broken++
		case verify.Skip:
			skipped++
		}
		line := []byte(findingText(f))
		if asJSON {
			line = findingJSON(f)
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	switch {
	case broken == 1:
		return fmt.Errorf("the server breaks one of %d rules", len(found))
	case broken > 0:
		return fmt.Errorf("the server breaks %d of %d rules", broken, len(found))
	case skipped == len(found):
		return errors.New("no rule could be put to the test")
	}
	return nil
}

func findingText(f verify.Finding) string {
	text := fmt.Sprintf("%-4s  %-17s %s (%s)\n", f.Outcome, f.Name, f.Says, f.Place)
	if f.Detail != "" {
		text += "      " + oneLine(f.Detail) + "\n"
	}
	return text
}

func findingJSON(f verify.Finding) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Rule   string `json:"rule"`
		Result string `json:"result"`
		Says   string `json:"says"`
		Place  string `json:"place"`
		Detail string `json:"detail,omitempty"`
	}{f.Name, strings.ToLower(f.Outcome.String()), f.Says, f.Place, f.Detail})
	if err != nil {
		panic("a finding is no JSON: " + err.Error())
	}
	return line.Bytes()
}

// mostShown is how many bytes of a message are shown.
const mostShown = 2000

// tracer shows messages, nil if nobody looks.
func tracer(ctx context.Context, log *slog.Logger) func(verify.Entry) {
	if !log.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return func(e verify.Entry) {
		args := []any{"connection", e.Conn}
		if e.Message != nil {
			args = append(args, "message", strings.ToValidUTF8(string(e.Message.Raw[:min(len(e.Message.Raw), mostShown)]), ""))
		}
		if e.ID != nil && e.Message == nil {
			args = append(args, "id", string(e.ID[:min(len(e.ID), mostShown)]))
		}
		if e.Request != nil {
			args = append(args, "request", string(e.Request[:min(len(e.Request), mostShown)]))
		}
		if e.Err != nil {
			args = append(args, "err", e.Err)
		}
		log.Debug(e.Kind.String(), args...)
	}
}
