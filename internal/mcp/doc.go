// Package mcp holds the vocabulary of the Model Context Protocol that more than one package needs: revisions, reserved
// _meta keys, error codes, the wire form of resources, and the kinds of failure a catalogue reports.
//
// It is a leaf: it imports nothing of this module and does nothing.
package mcp
