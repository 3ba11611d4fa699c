package watcher

import (
	"cmp"
	"hash/maphash"
	"time"
)

// facts is what a look at a name finds out, without reading what is in it.
type facts struct {
	kind          kind
	device, inode uint64
	mode          uint32 // as the system has it
	links         uint64
	owner         uint64 // user and group
	size          int64
	mtime, ctime  int64 // in nanoseconds since 1970; ctime is 0 where there is none
}

// age is how old facts may be.
type age bool

const (
	fresh  age = true  // a network file system asks its server
	cached age = false // what the kernel knows from before will do, which for a network file system may be a minute old
)

type kind uint8

const (
	other kind = iota
	file
	directory
	link
)

// signature stands for facts in the space of a number. Of a directory the upper half is for what it is and the lower for the
// rest. Of anything else the lower half is for the change time and the upper for the rest. Bit 0 is the racy bit.
type signature uint64

const racyBit signature = 1

var signatureSeed = maphash.MakeSeed()

func (f facts) signature() signature {
	upper, lower := f, facts{ctime: f.ctime}
	upper.ctime = 0
	if f.kind == directory {
		upper = facts{kind: f.kind, device: f.device, inode: f.inode}
		lower = f
	}
	high := maphash.Comparable(signatureSeed, upper)
	low := maphash.Comparable(signatureSeed, lower)
	return signature(high>>32<<32|low>>32) &^ racyBit
}

func (s signature) sameUpper(o signature) bool { return s>>32 == o>>32 }

// Clocks of file systems move in ticks. Two writes of equal size within one tick leave the same facts.
var tick = clockTick()

const (
	slowestTick = 10 * time.Millisecond
	coarseTick  = 2 * time.Second // where times are whole seconds
)

// racy reports whether what was looked at then, or later, may have changed once more within the tick of its last change. Then
// nobody can tell by a look. A look may take longer than a tick.
func (f facts) racy(then time.Time) bool {
	changed := time.Unix(0, cmp.Or(f.ctime, f.mtime)) // anybody may set the other time
	within := tick
	if changed.Nanosecond() == 0 {
		within = coarseTick
	}
	return then.Sub(changed).Abs() < within
}
