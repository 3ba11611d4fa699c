package watcher

import (
	"path/filepath"
	"slices"
	"time"
)

// The evidence of a look is weaker than that of an event. That other facts are there is told as [Attribute], and whoever knew of
// them already, by an event or a look of their own, finds nothing new. [Content] is what nobody else can find. And as names may
// come and go between two looks, with somebody else's look in between, a directory that was changed is told of as [Names].

// fill takes the snapshot of a directory that is open as f. What the kernel knows will do: nobody else has asked the server.
func (d *polled) fill(f folder) (racy bool, err error) {
	then := time.Now()
	self, err := f.facts("", cached)
	if err != nil {
		return false, err
	}
	if d.self = self.signature(); self.racy(then) {
		d.self |= racyBit
		racy = true
	}
	names, err := sortedNames(f)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		then := time.Now()
		is, err := f.facts(name, cached)
		switch sig := is.signature(); {
		case gone(err):
		case err != nil:
			d.names.add(name, 0) // other than it will turn out to be
		case is.racy(then):
			d.names.add(name, sig|racyBit)
			racy = true
		default:
			d.names.add(name, sig)
		}
	}
	d.names = slices.Clip(d.names)
	return racy, nil
}

// look compares a directory with its snapshot, tells the pump, and reports whether it should be looked at again soon.
func (p *poller) look(d *polled) (again bool) {
	if d.removed.Load() {
		return false
	}
	last := d.last.Load()
	c := &comparison{poller: p, polled: d}
	switch err := c.run(); {
	case err != nil:
		p.fail(d, err)
	case last:
		p.drop(d)
	default:
		d.stirred = false
	}
	return c.again
}

// comparison is a look at work.
type comparison struct {
	*poller
	*polled
	again bool
}

func (c *comparison) run() error {
	f, err := c.disk.open(c.abs, c.path == "")
	if gone(err) {
		c.tell("", Structure)
		return nil
	}
	if err != nil {
		_ = c.attributes(func() (facts, error) { return c.disk.facts(c.abs, c.path == "") })
		return err
	}
	defer f.Close()
	if f.id() != c.id {
		c.tell("", Structure)
		return nil
	}
	place := c.poller.place(c.polled)
	if err := c.attributes(func() (facts, error) { return f.facts("", fresh) }); err != nil {
		return err
	}
	c.moved(place)
	names, err := sortedNames(f)
	if err != nil {
		return err
	}
	return c.compare(f, names)
}

func sortedNames(f folder) ([]string, error) {
	names, err := f.names()
	slices.Sort(names)
	return slices.Compact(names), err
}

// attributes compares what the directory says of itself.
func (c *comparison) attributes(look func() (facts, error)) error {
	then := time.Now()
	now, err := look()
	if err != nil {
		return err
	}
	sig := now.signature()
	if sig != c.self {
		c.stirred = true
		c.tell("", Attribute|Names)
	}
	if now.racy(then) {
		sig |= racyBit
		c.again = true
	}
	c.self = sig
	return nil
}

// place is when names last changed in the directory that holds the root, 0 if they may yet change within the same tick.
func (p *poller) place(d *polled) int64 {
	if d.path != "" {
		return 0
	}
	now := time.Now()
	f, err := p.disk.facts(d.abs+string(filepath.Separator)+"..", true)
	if err != nil || f.racy(now) {
		return 0
	}
	return f.mtime
}

// moved is for the root, which is in no directory that is looked at: it may have been away, as ofDirectory says. before is its
// place before its attributes were compared; what happened since then is for the next look.
func (c *comparison) moved(before int64) {
	if c.path != "" {
		return
	}
	if c.stirred {
		if now := c.poller.place(c.polled); now == 0 || now != c.polled.place {
			c.tell("", Structure)
		}
	}
	c.polled.place = before
}

// tell names name, or with "" the directory.
func (c *comparison) tell(name string, e Evidence) {
	c.again = true
	if !c.removed.Load() {
		c.pump.merge(join(c.path, name), e)
	}
}

// compare goes through both sorted lists. The first thing that cannot be looked at is returned, and taken to be as it was.
func (c *comparison) compare(f folder, names []string) (failed error) {
	next := make(snapshot, 0, len(c.names)+len(c.names)/16)
	keep := func(name string, sig signature) {
		next.add(name, sig)
		c.again = c.again || sig&racyBit != 0
	}
	seen := func(name string, was signature, known bool) {
		then := time.Now()
		is, err := f.facts(name, fresh)
		switch {
		case err == nil:
			keep(name, c.judge(name, was, known, is.racy(then), is))
		case gone(err):
			if known {
				c.tell(name, Structure)
			}
		default:
			if failed == nil {
				failed = err
			}
			if known {
				keep(name, was)
			}
		}
	}
	for old, sig := range c.names.all() {
		for len(names) > 0 && names[0] < string(old) {
			seen(names[0], 0, false)
			names = names[1:]
		}
		if len(names) == 0 || names[0] != string(old) {
			c.tell(string(old), Structure)
			continue
		}
		seen(names[0], sig, true)
		names = names[1:]
	}
	for _, name := range names {
		seen(name, 0, false)
	}
	c.names = next
	return failed
}

// judge tells what is to be said of a name with these facts, and returns the signature to keep.
func (c *comparison) judge(name string, was signature, known, racy bool, is facts) signature {
	sig := is.signature()
	switch {
	case !known:
		c.tell(name, Attribute)
	case is.kind == directory && sig != was:
		c.tell(name, c.ofDirectory(was, sig))
	case sig != was&^racyBit:
		c.tell(name, is.evidence(was, sig))
	case was&racyBit != 0 && !racy:
		c.tell(name, Content) // it may have changed again in the same tick, after the last look or after somebody else's
	}
	if racy {
		sig |= racyBit
	}
	return sig
}

// ofDirectory is the evidence of another signature for a directory in this one. It may be the same and have been away, with
// another in its place that somebody has looked into: moves change both directories.
func (c *comparison) ofDirectory(was, sig signature) Evidence {
	if c.stirred || !was.sameUpper(sig) {
		return Structure
	}
	return Attribute
}

// evidence is what another signature says of anything else.
func (f facts) evidence(was, sig signature) Evidence {
	switch {
	case f.kind == link: // where it leads is not among the facts
		return Content
	case f.kind == file && was.sameUpper(sig): // a change time alone is what a write leaves that restores the other times
		return Content
	}
	return Attribute
}
