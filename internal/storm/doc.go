// Package storm tests the built program as a whole: several writers do random things to a tree that it serves, while a client
// listens, lists and reads as a host does. Afterwards what the client knows, from notifications alone, must be what is on the
// disk, and nothing may have been told that did not happen. It has no code but its tests, and they know of the program only
// its flags, the wire and /proc.
package storm
