package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// scale is how much is measured.
type scale struct {
	rounds      int
	connections int           // that ask at once
	while       time.Duration // for which one request is repeated
	listens     []int         // how many are open
	idle        time.Duration // for which open listens are watched that say nothing, in the first round
	idleAt      int           // how many those are
	deliveries  int           // changes that all listens are told of
	trees       []int         // files in the directories that are grown
	flat        int           // files in the one directory that has no subdirectory
	reads       int           // on a pipe
	starts      int           // for the time that one takes
	saves       int           // of one file in a tree
	storm       int           // changes of each file that a stalled reader does not take
	huge        int           // bytes in the largest file
}

var (
	whole = scale{rounds: 3, connections: 8, while: time.Second, listens: []int{1000, 4000, 16000}, idle: 16 * time.Second, idleAt: 4000,
		deliveries: 5, trees: []int{1_000, 10_000, 100_000, 1_000_000}, flat: 200_000, reads: 20_000,
		starts: 5, saves: 20, storm: 20, huge: 64 << 20}
	quick = scale{rounds: 1, connections: 8, while: 300 * time.Millisecond, listens: []int{1000}, idle: 2 * time.Second, idleAt: 1000,
		deliveries: 3, trees: []int{1_000, 10_000}, flat: 10_000, reads: 5_000,
		starts: 3, saves: 5, storm: 20, huge: 64 << 20}
)

// bench is one run.
type bench struct {
	scale scale
	only  []string // measures and groups of them that are wanted; all if empty
	cores cores
	dir   string // what is served
	sheet *sheet
	log   io.Writer

	descriptors int    // that this process, and a server, may have
	scratch     string // where trees are grown

	round    int              // from 0
	alone    bool             // one program of ours is measured, not several
	resident map[string]int64 // bytes that the product has on the smallest tree, by its name
}

// wants reports whether a measure is to be taken, by any of its names.
func (b *bench) wants(names ...string) bool {
	return len(b.only) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(b.only, name) })
}

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
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		small   = flags.Bool("quick", false, "measure little of everything, in two or three minutes")
		only    = flags.String("only", "", "measure these `NAMES` alone, separated by commas: "+strings.Join(measureNames(), ", "))
		rounds  = flags.Int("rounds", 0, "take medians of `N` rounds (default 3, with -quick 1)")
		conns   = flags.Int("connections", 0, "ask on `N` connections at once (default 8)")
		while   = flags.Duration("while", 0, "repeat each request for `TIME` in each round (default 1s, with -quick 300ms)")
		listens = flags.Int("listens", 0, "open `N` listens at once, instead of 1,000, 4,000 and 16,000")
		files   = flags.Int("files", 0, "grow a tree of `N` files, instead of 1,000 to 1,000,000")
		program = flags.String("ours", "", "measure the built program at `PATH`, or several as NAME=PATH,NAME=PATH, instead of this tree's")
		servers = flags.String("servers", "all", "measure these other `NAMES` too: go-sdk, mcp-go, typescript, files, copied, all or none")
		output  = flags.String("o", "", "write the tables to `FILE` too")
		asJSON  = flags.Bool("json", false, "print every value of every round as JSON, instead of tables")
	)
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return nil
		}
		return err
	}
	b := &bench{scale: whole, log: stderr, resident: map[string]int64{}}
	if *small {
		b.scale = quick
	}
	if *only != "" {
		b.only = strings.Split(*only, ",")
		for _, name := range b.only {
			if !slices.Contains(measureNames(), name) {
				return fmt.Errorf("-only: no measure is called %q: there are %s", name, strings.Join(measureNames(), ", "))
			}
		}
	}
	set(&b.scale.rounds, *rounds)
	set(&b.scale.connections, *conns)
	set(&b.scale.while, *while)
	if *listens > 0 {
		b.scale.listens, b.scale.idleAt = []int{*listens}, *listens
	}
	if *files > 0 {
		b.scale.trees = []int{*files}
	}
	return b.run(ctx, wanted{ours: *program, servers: *servers}, stdout, *output, *asJSON)
}

// set sets what the command line says.
func set[T int | time.Duration](to *T, value T) {
	if value > 0 {
		*to = value
	}
}

func (b *bench) run(ctx context.Context, w wanted, stdout io.Writer, output string, asJSON bool) error {
	start := time.Now()
	bin, removeBin, err := temporary()
	if err != nil {
		return err
	}
	defer removeBin()
	peers, leftOut, err := preparePeers(ctx, bin, w)
	if err != nil {
		return err
	}
	var remove func()
	if b.dir, remove, err = temporary(); err != nil {
		return err
	}
	defer remove()
	var removeScratch func()
	if b.scratch, removeScratch, err = temporary(); err != nil {
		return err
	}
	defer removeScratch()
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
	b.alone = !strings.Contains(w.ours, ",")
	b.sheet = newSheet(peers)
	for _, why := range leftOut {
		b.sheet.note("%s", why)
	}
	if err := b.measure(ctx, peers); err != nil {
		return err
	}
	report := b.report(ctx, peers, start)
	if asJSON {
		return b.writeJSON(stdout, report)
	}
	var text strings.Builder
	report.write(&text)
	b.sheet.write(&text)
	if output != "" {
		if err := os.WriteFile(output, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, text.String())
	return err
}

func (b *bench) writeJSON(w io.Writer, m machine) error {
	type value struct {
		row
		Server string    `json:"server"`
		Median float64   `json:"median"`
		Rounds []float64 `json:"rounds"`
	}
	var values []value
	for _, r := range b.sheet.rows {
		for _, server := range b.sheet.servers {
			if rounds := b.sheet.values[r][server]; rounds != nil {
				values = append(values, value{r, server, median(rounds), rounds})
			}
		}
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	return out.Encode(map[string]any{"machine": m, "values": values, "notes": b.sheet.notes})
}
