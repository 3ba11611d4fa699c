package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	err = o.run(ctx, stdout, stderr)
	if ctx.Err() != nil {
		return errors.New("interrupted, with nothing to show")
	}
	return err
}

// bench is one run.
type bench struct {
	scale scale
	only  measures
	cores cores
	dir   string // what is served
	sheet *sheet
	log   io.Writer

	descriptors int    // that this process, and a server, may have
	scratch     string // where trees are grown

	round int  // from 0
	alone bool // one program of ours is measured, not several
}

// run measures what the options want, prints it, and removes all that it has made.
func (o options) run(ctx context.Context, stdout, log io.Writer) error {
	start := time.Now()
	work, remove, err := temporary()
	if err != nil {
		return err
	}
	defer remove()
	b := &bench{scale: o.scale, only: o.only, log: log}
	var bin string
	for name, dir := range map[string]*string{"bin": &bin, "served": &b.dir, "trees": &b.scratch} {
		*dir = work + "/" + name
		if err := os.Mkdir(*dir, 0o755); err != nil {
			return err
		}
	}
	peers, leftOut, err := preparePeers(ctx, bin, o.wanted, o.only)
	if err != nil {
		return err
	}
	if err := makeFixture(b.dir, b.scale.huge); err != nil {
		return err
	}
	if b.cores, err = divideCores(); err != nil {
		return err
	}
	if err := b.cores.stay(); err != nil {
		return err
	}
	if b.descriptors, err = moreDescriptors(); err != nil {
		return err
	}
	b.alone = !strings.Contains(o.wanted.ours, ",")
	b.sheet = newSheet(peers)
	for _, why := range leftOut {
		b.sheet.note("%s", why)
	}
	if err := b.measure(ctx, peers); err != nil {
		return err
	}
	report := b.report(ctx, peers, start)
	text := report.text() + b.sheet.text()
	if o.asJSON {
		if text, err = b.sheet.json(report); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, text)
	if o.output != "" {
		err = errors.Join(err, os.WriteFile(o.output, []byte(text), 0o644))
	}
	return errors.Join(err, b.sheet.err())
}
