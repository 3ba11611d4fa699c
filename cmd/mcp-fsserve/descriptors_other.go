//go:build !unix

package main

// descriptors is how many files and connections the process may have open: here they are not counted.
func descriptors() int { return mostAtAll }
