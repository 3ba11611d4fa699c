package main

import (
	"io"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// pathList prints one path a line.
type pathList struct{ out io.Writer }

func newPathList(out io.Writer) printer { return pathList{out} }

func (p pathList) entry(r mcp.Resource) error {
	_, err := io.WriteString(p.out, printable(rawName(r))+"\n")
	return err
}

func (p pathList) end(totals) error { return nil }
