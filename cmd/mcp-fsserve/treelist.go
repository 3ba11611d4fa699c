package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// treeList prints a tree for people: size, type and name, the names indented below the lines of their directories. The
// columns are of a fixed width, since what comes later is not known yet.
type treeList struct {
	out      io.Writer
	limit    int64    // the largest file that is read, in bytes
	tooLarge int      // how many are larger
	in       []string // the directories of the entry before
}

func newTreeList(out io.Writer, limit int64) printer { return &treeList{out: out, limit: limit} }

// Widths of the columns: "999 KiB" at most, and most types there are.
const (
	sizeWidth = 7
	typeWidth = 24
)

func (t *treeList) entry(r mcp.Resource) error {
	segments := strings.Split(rawName(r), "/")
	dirs, name := segments[:len(segments)-1], segments[len(segments)-1]
	if err := t.move(dirs); err != nil {
		return err
	}
	name = treeName(name)
	if r.Size > t.limit {
		t.tooLarge++
		name += "  (too large to read)"
	}
	return t.line(humanSize(r.Size), r.MIMEType, len(dirs), name)
}

// move prints the lines of the directories that dirs enters.
func (t *treeList) move(dirs []string) error {
	shared := 0
	for shared < min(len(dirs), len(t.in)) && dirs[shared] == t.in[shared] {
		shared++
	}
	for depth := shared; depth < len(dirs); depth++ {
		if err := t.line("", "", depth, treeName(dirs[depth])+"/"); err != nil {
			return err
		}
	}
	t.in = dirs
	return nil
}

func (t *treeList) line(size, mimeType string, depth int, name string) error {
	_, err := fmt.Fprintf(t.out, "%*s  %-*s  %s%s\n", sizeWidth, size, typeWidth, shorten(mimeType, typeWidth), strings.Repeat("  ", depth), name)
	return err
}

func (t *treeList) end(sum totals) error {
	noun := "files"
	if sum.Files == 1 {
		noun = "file"
	}
	text := fmt.Sprintf("%d %s, %s", sum.Files, noun, humanSize(sum.Bytes))
	if t.tooLarge > 0 {
		text += fmt.Sprintf("; %d too large to read, above --max-size %v", t.tooLarge, &size{value: &t.limit})
	}
	_, err := fmt.Fprintln(t.out, text)
	return err
}

// treeName also quotes spaces at the ends, which would pass for the indent or for nothing.
func treeName(name string) string {
	if strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return printable(name)
}

// shorten ends what is longer than width with an ellipsis.
func shorten(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// humanSize has at least two digits that count, and units of 1024 as --max-size has, called by names that say so.
func humanSize(bytes int64) string {
	if bytes < 1000 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	value := float64(bytes)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		value /= 1024
		if value < 9.95 {
			return strconv.FormatFloat(value, 'f', 1, 64) + " " + unit
		}
		if value < 999.5 {
			return strconv.FormatFloat(value, 'f', 0, 64) + " " + unit
		}
	}
	return strconv.FormatFloat(value/1024, 'f', 1, 64) + " EiB"
}
