package resources

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// settled is a file whose state says that it has not changed for long, whatever is written to it. It counts how often its first
// byte is read.
type settled struct {
	*os.File
	looks int
}

func (f *settled) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	st := *info.Sys().(*syscall.Stat_t)
	st.Ctim = syscall.Timespec{Sec: 1_000_000_000}
	return settledInfo{info, &st}, nil
}

func (f *settled) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		f.looks++
	}
	return f.File.ReadAt(p, off)
}

func (f *settled) Close() error { return nil }

type settledInfo struct {
	fs.FileInfo
	st *syscall.Stat_t
}

func (i settledInfo) Sys() any           { return i.st }
func (i settledInfo) ModTime() time.Time { return time.Unix(i.st.Ctim.Unix()) }

// A large file that has not changed is surveyed once, whoever reads it; what it holds is compared with that each time.
func TestALargeFileIsSurveyedOnce(t *testing.T) {
	p := serve(t)
	was := strings.Repeat("a line\n", 50_000)
	p.write("f", was)
	file, err := os.OpenFile(p.at("f"), os.O_RDWR, 0)
	p.must(err)
	defer file.Close()
	f := &settled{File: file}
	info, err := f.Stat()
	p.must(err)
	measured := 0
	open := func() mcp.Contents {
		t.Helper()
		b, err := p.readBody(t.Context(), "test://f", f, info, func(block []byte) int { measured++; return len(block) })
		p.must(err)
		return mcp.Contents{Body: b}
	}
	first := open()
	if got := string(p.wholeOf(first)); got != was {
		t.Errorf("%d bytes", len(got))
	}
	looks, blocks := f.looks, measured
	second, third := open(), open()
	if f.looks != looks || measured != blocks {
		t.Errorf("it is surveyed again: %d looks, %d blocks", f.looks-looks, measured-blocks)
	}
	if b := second.Body.(*body); b.Measured() != int64(len(was)) || b.Size() != int64(len(was)) || !b.text || len(b.head) != sniffLen {
		t.Errorf("the second reader is told otherwise: %+v", b.survey)
	}
	// What its state does not tell of, such as what is written through a memory map.
	_, err = file.WriteAt([]byte("A"), 200_000)
	p.must(err)
	sum := func(c mcp.Contents) (err error) {
		defer c.Close()
		for i := 0; i < c.Body.Blocks() && err == nil; i++ {
			_, err = c.Body.Block(i)
		}
		return err
	}
	if err := sum(second); !errors.Is(err, mcp.ErrChanged) {
		t.Errorf("another content than was surveyed: %v", err)
	}
	now := was[:200_000] + "A" + was[200_001:]
	if got := string(p.wholeOf(open())); got != now {
		t.Error("the survey that was not true is gone by")
	}
	if err := sum(third); !errors.Is(err, mcp.ErrChanged) {
		t.Errorf("a reader of before: %v", err)
	}
	// Its state has shown that it does not tell: from now on it is surveyed for each reader.
	for range 2 {
		looks := f.looks
		reader := open()
		if f.looks == looks {
			t.Error("it is not surveyed again")
		}
		if got := string(p.wholeOf(reader)); got != now {
			t.Errorf("%d bytes", len(got))
		}
	}
}

// Who has made a survey lets nobody go by it either, if it turns out to be untrue.
func TestASurveyIsForgottenByWhoMadeIt(t *testing.T) {
	p := serve(t)
	p.write("f", strings.Repeat("a line\n", 50_000))
	file, err := os.OpenFile(p.at("f"), os.O_RDWR, 0)
	p.must(err)
	defer file.Close()
	f := &settled{File: file}
	info, err := f.Stat()
	p.must(err)
	read := func(before func()) error {
		b, err := p.readBody(t.Context(), "test://f", f, info, nil)
		p.must(err)
		defer b.Close()
		before()
		for i := range b.Blocks() {
			if _, err := b.Block(i); err != nil {
				return err
			}
		}
		return nil
	}
	err = read(func() {
		_, err := file.WriteAt([]byte("A"), 200_000)
		p.must(err)
	})
	if !errors.Is(err, mcp.ErrChanged) {
		t.Errorf("it changes: %v", err)
	}
	if err := read(func() {}); err != nil {
		t.Errorf("it has changed before: %v", err)
	}
}
