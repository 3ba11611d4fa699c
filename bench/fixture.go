package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// Files that the directory has, besides many small ones to list and listen to.
const (
	smallFile   = "small.txt"  // 1 KiB of text
	largeText   = "large.txt"  // 1 MiB of text
	largeBinary = "large.bin"  // 1 MiB of bytes that are no text
	hugeText    = "huge.txt"   // much text
	watchedFile = "watched.md" // what listens are told of
	listed      = 1100         // files in the directory: one page of 1,000, and a part of a second
	manyLarge   = 80           // files like the one of text: more than a server may know something of
)

// uriBase is what the URI of each file begins with, on every server.
const uriBase = "test://"

// makeFixture fills dir with what every server serves. The largest file has huge bytes.
func makeFixture(dir string, huge int) error {
	files := map[string][]byte{
		smallFile:   smallContent,
		largeText:   largeContent,
		largeBinary: binaryContent,
		hugeText:    prose(huge),
		watchedFile: []byte("version 0\n"),
	}
	for i := range manyLarge {
		files[largeName(i)] = largeContent
	}
	for i := range listed - len(files) {
		files[noteName(i)] = fmt.Appendf(nil, "note %d\n", i)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// largeName names one of many large files, in as many bytes as any other of them.
func largeName(i int) string { return fmt.Sprintf("large-%02d.txt", i) }

// noteName names one of the small files.
func noteName(i int) string { return fmt.Sprintf("note-%04d.md", i) }

// What the files hold that are read again and again, and compared.
var (
	smallContent  = prose(1 << 10)
	largeContent  = prose(1 << 20)
	binaryContent = noise(1 << 20)
)

// noise is n bytes that are no text.
func noise(n int) []byte {
	content := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content) // never fails
	return content
}

// prose is text of n bytes with lines, quotes and letters beyond ASCII, as documents have them.
func prose(n int) []byte {
	const line = "The reader's \"own\" copy of a page, line after line; naïve café prices are in €.\n"
	text := bytes.Repeat([]byte(line), n/len(line)+1)[:n]
	for i := n - 1; i >= 0 && text[i] >= utf8.RuneSelf; i-- { // no letter is cut in two
		text[i] = '.'
	}
	return text
}
