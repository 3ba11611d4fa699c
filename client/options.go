package client

import (
	"log/slog"
	"time"
)

// Options configures a [Client]. The zero value and nil are ready to use. What is negative counts as zero where nothing else
// is said.
type Options struct {
	// Name and Version are what the client says it is (basic/index, clientInfo). Empty: "mcp-fsserve-client" and "0".
	Name, Version string
	// Log takes warnings: what the server does not announce, what of it makes no sense. Nil: nobody does.
	Log *slog.Logger
	// Timeout is how long the server may take to answer, and to acknowledge a listen. Zero: 20 s.
	Timeout time.Duration
	// EraTimeout is how long server/discover may go unanswered before the client tries to initialize as earlier revisions
	// do. Zero: 5 s, and never more than Timeout.
	EraTimeout time.Duration
	// Probe is how long nothing may be heard before the server is asked something, so that one that has stalled is found out.
	// Zero: 30 s. Negative: it is never asked.
	Probe time.Duration
	// Idle is how long a listen over HTTP may be silent before it counts as lost, once the server has sent a keepalive on it.
	// One without keepalives may be silent ten times as long. Zero: 60 s. Negative: for any time.
	Idle time.Duration
	// Close is how long a command may take to leave when its input ends, and a server over HTTP to end a session. A command
	// that takes longer is told to by SIGTERM, and 2 s later it is killed. Zero: 5 s.
	Close time.Duration
	// Backoff says when a connection that was lost is tried again.
	Backoff Backoff
	// Retry is asked after each connection that has failed or was lost; if it returns false, [Client.Run] returns err.
	// attempts counts as [Event.Attempts] does. Nil: it is always tried again, also a command that there is not.
	Retry func(err error, attempts int) bool
	// MaxURIs is how many resources one listen may name; more are spread over several. Zero: 10,000.
	MaxURIs int
	// Spare is how many listens there may be above those needed before they are merged. Zero: 100 for a command and 8 over
	// HTTP, where each takes a connection. Negative: none.
	Spare int
	// Grace is how long a listen that another has replaced must have been quiet before it is cancelled: what it owes would be
	// lost. It is far above what a server holds a change back for, such as to tell of several at once. Zero: 10 s.
	Grace time.Duration
	// Poll is the least time between two looks at what the server does not announce. It is never less than the ttlMs that the
	// server gave; it grows up to PollMax while nothing changes, and there are no more than 50 looks a second in all.
	// Zero: 2 s. Negative: nothing is polled, and such changes are not told.
	Poll time.Duration
	// PollMax is the most time between two looks, unless there are too many to look at or the ttlMs is longer. Zero: 30 s.
	PollMax time.Duration
	// MaxNotifications is how many events of kind [Notification] wait for [Client.Next]. Fewer do if they take more than 64 MiB.
	// Zero: 1,000.
	MaxNotifications int
	// CacheBytes bounds what [Client.Read] remembers while its ttlMs lasts. Zero: 16 MiB. Negative: nothing is remembered.
	CacheBytes int
}

// Backoff is an exponential back-off with full jitter: before the nth attempt in a row a random time is waited that is at most Base
// doubled n-1 times, at most Max and at least a tenth of Base. If the server asks for longer by Retry-After, that is waited.
type Backoff struct {
	Base  time.Duration // zero: 500 ms
	Max   time.Duration // zero: 30 s
	Reset time.Duration // how long the client must have been live for attempts to count from one again; zero: 10 s
}

func (o *Options) withDefaults(overHTTP bool) Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Name == "" {
		d.Name = "mcp-fsserve-client"
	}
	if d.Version == "" {
		d.Version = "0"
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	spare := 100
	if overHTTP {
		spare = 8
	}
	d.Timeout = positive(d.Timeout, 20*time.Second)
	d.EraTimeout = min(positive(d.EraTimeout, 5*time.Second), d.Timeout)
	d.Probe = orDefault(d.Probe, 30*time.Second)
	d.Idle = orDefault(d.Idle, 60*time.Second)
	d.Close = positive(d.Close, 5*time.Second)
	d.Backoff.Base = positive(d.Backoff.Base, 500*time.Millisecond)
	d.Backoff.Max = positive(d.Backoff.Max, 30*time.Second)
	d.Backoff.Reset = positive(d.Backoff.Reset, 10*time.Second)
	d.MaxURIs = positive(d.MaxURIs, 10_000)
	d.Spare = max(orDefault(d.Spare, spare), 0)
	d.Grace = positive(d.Grace, 10*time.Second)
	d.Poll = orDefault(d.Poll, 2*time.Second)
	d.PollMax = max(positive(d.PollMax, 30*time.Second), d.Poll)
	d.MaxNotifications = positive(d.MaxNotifications, 1000)
	d.CacheBytes = orDefault(d.CacheBytes, 16<<20)
	return d
}

// positive is v, or the default where v is none and means nothing.
func positive[T int | time.Duration](v, zero T) T {
	if v <= 0 {
		return zero
	}
	return v
}

func orDefault[T int | time.Duration](v, zero T) T {
	if v == 0 {
		return zero
	}
	return v
}
