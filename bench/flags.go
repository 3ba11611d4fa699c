package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	scale  scale
	only   measures
	wanted wanted
	output string // a file that the tables are written to as well
	asJSON bool
}

// parse reads the command line. Help goes to stderr, and is flag.ErrHelp.
func parse(args []string, stderr io.Writer) (options, error) {
	var (
		o     options
		given scale // zero where the command line says nothing
		small bool
		flags = flag.NewFlagSet("bench/run", flag.ContinueOnError)
	)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&small, "quick", false, "measure little of everything, in "+quickTakes)
	flags.Func("only", "measure these `NAMES` alone, separated by commas: "+strings.Join(measureNames(), ", "), names(&o.only))
	flags.Func("rounds", "take medians of `N` rounds (default 3, with -quick 1)", number(&given.rounds, 1, 1000))
	flags.Func("connections", "ask on `N` connections at once (default 8)", number(&given.connections, 1, 1000))
	flags.Func("rate", "ask `N` times a second for what is asked at a fixed rate (default 200, which leaves every server time)", number(&given.rate, 10, 100_000))
	flags.Func("while", "repeat each request for `TIME` in each round (default 1s, with -quick 300ms)", lasting(&given.while))
	flags.Func("listens", "open so many listens at once, for each of `N,N,...` (default 1000,4000,16000, with -quick 1000); "+
		"beside requests, on other ways and to be idle 4000, if that is one of them, or the most",
		numbers(&given.listens, 1, maxListens))
	flags.Func("files", "grow a tree of so many files, for each of `N,N,...` (default 1000,10000,100000, with -quick 1000,10000; a million takes "+
		"a minute to make, and 300 MB)", numbers(&given.trees, 1, maxFiles))
	flags.Func("flat", "put `N` files into one directory (default 200000, with -quick 10000)", number(&given.flat, 1, maxFiles))
	flags.Func("uris", "have listens ask for so many URIs, for each of `N,N,...` (default 1,50,500)", numbers(&given.uris, 1, maxURIs))
	flags.Func("changes", "change so many files at once, for each of `N,N,...` (default 1,100,10000, with -quick 1,100,1000)",
		numbers(&given.changes, 1, maxChanges))
	flags.StringVar(&o.wanted.ours, "ours", "", "measure the built program at `PATH`, or several as NAME=PATH,NAME=PATH, instead of this tree's")
	flags.StringVar(&o.wanted.servers, "servers", "all", "measure these other `NAMES` too: "+strings.Join(otherNames, ", ")+", all or none")
	flags.StringVar(&o.wanted.source, "source", ".", "find the sources of the servers in the bench/ at `DIR`, which bench/run says")
	flags.StringVar(&o.output, "o", "", "write what is printed to `FILE` too")
	flags.BoolVar(&o.asJSON, "json", false, "print every value of every round as JSON, instead of tables")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
			return o, err
		}
		return o, fmt.Errorf("%w (-help names the flags)", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag (-help names them)", flags.Arg(0))
	}
	o.scale = whole
	if small {
		o.scale = quick
	}
	o.scale.take(given)
	if _, err := o.wanted.others(o.only); err != nil {
		return o, err
	}
	return o, mayWrite(o.output)
}

// mayWrite finds out before anything is measured whether there can be a file, and leaves none that there was not.
func mayWrite(path string) error {
	if path == "" {
		return nil
	}
	path = filepath.Clean(path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	isNew := err == nil
	if errors.Is(err, os.ErrExist) {
		file, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	err = file.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// names reads names of measures, separated by commas. No name is not all of them, which is what no flag is.
func names(to *measures) func(string) error {
	return func(s string) error {
		*to = strings.Split(s, ",")
		for _, name := range *to {
			if !slices.Contains(measureNames(), name) {
				return fmt.Errorf("no measure is called %q: there are %s", name, strings.Join(measureNames(), ", "))
			}
		}
		return nil
	}
}

// number reads a whole number between bounds, which are included.
func number(to *int, least, most int) func(string) error {
	return func(s string) (err error) {
		*to, err = between(s, least, most)
		return err
	}
}

// numbers reads different whole numbers, separated by commas, and puts them in ascending order.
func numbers(to *[]int, least, most int) func(string) error {
	return func(s string) error {
		*to = nil
		for _, one := range strings.Split(s, ",") {
			n, err := between(one, least, most)
			if err != nil {
				return err
			}
			*to = append(*to, n)
		}
		slices.Sort(*to)
		*to = slices.Compact(*to)
		return nil
	}
}

func between(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is no number from %d to %d", s, least, most)
	}
	return n, nil
}

// lasting reads a time that is long enough for some requests, and short enough for a run that ends.
func lasting(to *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 10*time.Millisecond || d > time.Minute {
			return fmt.Errorf("%q is no time from 10ms to 1m", s)
		}
		*to = d
		return nil
	}
}
