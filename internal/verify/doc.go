// Package verify holds the listens of any MCP server against the rules of revision 2026-07-28.
//
// It is in two halves. A probe asks a server for listens, has something change or waits until something does, cancels
// and leaves, and writes down all that was sent and all that came, in order. The rules are a table of functions that
// read such a [Recording] and do nothing else: each finds that it was kept, that it was broken, with the messages that
// break it, or that the recording does not show it, and why. No rule is kept for want of a case.
//
// Time. What a server may take its time for counts as missing when the probe has waited for [Options.Patience] in vain;
// what must not come is looked for until something else has come that was asked for later. What comes on two ways, as the
// answers to two requests over HTTP do, comes in no order: that something came about after something else is certain only
// if it was caused by what was done after the other had come, or if it came longer after the other than the probe is
// patient. Nothing else depends on how fast a machine is, but for the comparison of the time of answers before and after
// many listens, of which ten times and a second are allowed, and the silence of a server that is held up, which must be
// three times longer than any before and end when that does.
//
// Goroutines. [Run] waits for all of its own, and for the commands that it has started, and takes away what it has put into
// a directory, also when its context ends.
package verify
