package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

// following are the flags of listen.
type following struct {
	asJSON, list, read bool
	exec               string // what a shell runs after each change; empty: nothing
}

func (l *following) flags(f *pflag.FlagSet) {
	f.BoolVar(&l.asJSON, "json", false, "print one JSON object a line")
	f.BoolVar(&l.list, "list", false, "follow the list too, where URIs are given")
	f.BoolVar(&l.read, "read", false, "print what a resource holds after each change of it")
	f.Var(&shellLine{"--exec", &l.exec}, "exec", "have a shell run CMD after each change")
}

func (p *program) listenCommand() *cobra.Command {
	var form following
	var show bearer
	cmd := &cobra.Command{
		Use:   "listen [flags] [NAME=]DIR...|URL|-- COMMAND [ARG]...",
		Short: "Print what a listener is told, as it happens",

		SuggestFor: []string{"watch", "tail", "follow", "monitor", "subscribe"},
		Long: `Listen to everything that a server serves, and print one line a fact. The server
is this program on directories, any MCP server that is a command, after --, or
one at a URL. URIs before the --, after the URL or among directories have it
listen to these alone.

  live N resources   every listen is acknowledged: nothing is missed from now on
  updated URI        a resource changed, appeared again or disappeared
  list + URI         the list has gained a resource, which is listened to
  list - URI         the list has lost a resource
  lost REASON        the server has ended, stalled or cannot be reached

A server that is lost is started or asked again, after half a second at first
and up to 30 seconds in the end. When it is live again, the list is compared
with what was known, and what may have changed meanwhile is told as updated.
What a server does not announce is looked at every few seconds. Servers of
earlier revisions of MCP will do.

With --read, what the resource holds follows each change, indented. All that is
followed is read first, and kept in memory to compare with: what was missed, or
is looked at, is told only if it differs; what a server announces always is. A
URI that cannot be read is named in a warning and followed all the same, since
there may be such a resource later.

With --json each fact is an object: {"event":"live","resources":N}, or
"updated", "added" or "removed" with its "uri" and, with --read, its "contents"
or an "error", or "lost" with its "reason" and "retryMs", the time until the
next attempt.

With --exec a shell runs CMD after each change, with updated, added or removed
in $MCP_FSSERVE_EVENT, the URI in $MCP_FSSERVE_URI and, with --read, what the
resource holds as standard input. One runs at a time; what changes again
meanwhile is run for once. Its output goes to standard error. That it fails is
said there, and ends nothing.

A token on the command line can be seen by other users of the machine: put it in
a file for --token-file, or in $` + bearerVariable + `.

It ends on SIGINT and SIGTERM with status 0, and with status 1 if the server
will never be live: there is no such command, this program refuses the
directories, a token is missing or not known, or a certificate is not trusted.`,
		Example: `  mcp-fsserve listen ~/notes
  mcp-fsserve listen --include '*.md' ~/notes ~/work/docs
  mcp-fsserve listen --json ~/notes | jq -r 'select(.event == "updated").uri'
  mcp-fsserve listen --exec 'make site' ~/site/pages
  mcp-fsserve listen --read test://clock -- npx -y some-server
  mcp-fsserve listen --token-file ~/.mcp-token https://docs.example.com/mcp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := p.target(cmd, args, &show)
			if err != nil {
				return err
			}
			return p.listen(cmd.Context(), t, form)
		},
		ValidArgsFunction: completeTarget,
	}
	group(cmd, groupFacts, form.flags)
	group(cmd, groupServer, show.flags)
	p.addSettings(cmd)
	group(cmd, groupChanges, p.settings.watching)
	return cmd
}

// want is what is followed: everything, or the resources that are named.
func (l *following) want(uris []string) client.Want {
	if len(uris) == 0 {
		return client.Want{List: true, Listed: true, Read: l.read}
	}
	return client.Want{List: l.list, URIs: uris, Read: l.read}
}

// listen follows a server until ctx ends, which is no error.
func (p *program) listen(ctx context.Context, t *target, form following) error {
	to, err := t.wire(p)
	if err != nil {
		return err
	}
	f := &follower{target: t, log: p.logger(), facts: &facts{out: p.stdout, asJSON: form.asJSON, read: form.read}}
	if form.exec != "" {
		f.runner = newRunner(form.exec, p.stderr, p.logger())
	}
	opts := &client.Options{Name: "mcp-fsserve-listen", Version: programVersion(), Log: p.logger(), Retry: f.again}
	f.client = client.New(client.Target{Command: to.Command, Stderr: to.Stderr, URL: to.URL, Header: to.Header}, form.want(t.beside), opts)
	return f.run(ctx)
}

// follower prints what a client tells.
type follower struct {
	target *target
	client *client.Client
	facts  *facts
	runner *runner // nil: nothing is run
	live   atomic.Bool
	log    *slog.Logger
}

// leaveFact is how long a fact may take to be printed when the program is to end.
const leaveFact = time.Second

// run ends with ctx, with a fact that cannot be printed, or with a server that will not be had. All that it has started
// has ended when it returns, but for the printing of a fact that standard output does not take.
func (f *follower) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- f.client.Run(ctx) }()
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if f.runner != nil {
			f.runner.run(ctx)
		}
	}()
	telling := make(chan error, 1)
	go func() { telling <- f.tell(ctx) }()
	var told error
	select {
	case told = <-telling:
	case <-ctx.Done():
		told = within(leaveFact, telling)
	}
	stop()
	lost := <-ended
	<-ran
	if told != nil {
		return told
	}
	return f.explain(lost)
}

// within is what a channel has to say, nil if that takes longer than d.
func within(d time.Duration, c <-chan error) error {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case err := <-c:
		return err
	case <-late.C:
		return nil
	}
}

// tell prints facts until there are none any more, which is no error.
func (f *follower) tell(ctx context.Context) error {
	for {
		e, err := f.client.Next(ctx)
		if err != nil {
			return nil
		}
		first := e.Kind == client.Live && !f.live.Swap(true)
		if err := f.facts.tell(e); err != nil {
			return err
		}
		if first && f.facts.read {
			f.warn()
		}
		if f.runner != nil {
			f.runner.add(e)
		}
	}
}

// warn says which of the resources that were named are followed though they cannot be read: they may be spelt wrong.
func (f *follower) warn() {
	for _, uri := range f.target.beside {
		if _, err := f.client.Contents(uri); err != nil {
			f.log.Warn("cannot be read, but is listened to", "uri", uri, "err", err)
		}
	}
}

// again reports whether a server that was lost is tried again: one that was live always is.
func (f *follower) again(err error, _ int) bool {
	return f.live.Load() || f.target.cfg == nil && !isHopeless(err)
}

// explain says what a user can do about a server that will not be had.
func (f *follower) explain(err error) error {
	if err == nil {
		return nil
	}
	return explainTarget(f.target, err)
}
