package resources

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// typeByName returns the media type that a file's name tells, "" if it tells none. It is the same on every system: the
// tables of the host are not asked.
func typeByName(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return typeByExtension(name[i+1:])
	}
	return typeOfName()[strings.ToLower(name)]
}

func typeByExtension(ext string) string {
	if t := typeOfExt()[ext]; t != "" {
		return t
	}
	return typeOfExt()[strings.ToLower(ext)]
}

// sniffLen is how much of a file its type is found by.
const sniffLen = 512 // bytes

const (
	sniffBinary uint32 = iota
	sniffText
	sniffHTML
	sniffXML
	sniffMagic // the first of magics
)

// sniffable are the types that content can have, by number.
var sniffable = func() []string {
	list := []string{"application/octet-stream", "text/plain", "text/html", "application/xml"}
	for _, m := range magics {
		list = append(list, m.mime)
	}
	return list
}()

// sniff finds the type by the first bytes of the content.
func sniff(head []byte) uint32 {
	for i, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.magic)) {
			return sniffMagic + uint32(i)
		}
	}
	if !validHead(head) {
		return sniffBinary
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	start := strings.ToLower(string(text[:min(len(text), 16)]))
	switch {
	case strings.HasPrefix(start, "<!doctype html"), strings.HasPrefix(start, "<html"):
		return sniffHTML
	case strings.HasPrefix(start, "<?xml"):
		return sniffXML
	}
	return sniffText
}

// validHead: valid UTF-8, but for a last rune that is cut off, and no NUL, which text files do not hold.
func validHead(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if len(head) == sniffLen {
		for cut := 0; cut < utf8.UTFMax-1 && !utf8.Valid(head); cut++ {
			head = head[:len(head)-1]
		}
	}
	return utf8.Valid(head)
}

// magics start the content of binary files.
var magics = []struct {
	at    int // offset
	magic string
	mime  string
}{
	{0, "\x89PNG\r\n\x1a\n", "image/png"},
	{0, "\xff\xd8\xff", "image/jpeg"},
	{0, "GIF87a", "image/gif"},
	{0, "GIF89a", "image/gif"},
	{8, "WEBP", "image/webp"},
	{0, "II*\x00", "image/tiff"},
	{0, "MM\x00*", "image/tiff"},
	{0, "\x00\x00\x01\x00", "image/vnd.microsoft.icon"},
	{4, "ftypavif", "image/avif"},
	{4, "ftypheic", "image/heic"},
	{4, "ftypqt", "video/quicktime"},
	{4, "ftyp", "video/mp4"},
	{0, "\x1a\x45\xdf\xa3", "video/webm"},
	{8, "WAVE", "audio/wav"},
	{8, "AVI ", "video/x-msvideo"},
	{0, "ID3", "audio/mpeg"},
	{0, "OggS", "application/ogg"},
	{0, "fLaC", "audio/flac"},
	{0, "%PDF-", "application/pdf"},
	{0, "PK\x03\x04", "application/zip"},
	{0, "PK\x05\x06", "application/zip"},
	{0, "\x1f\x8b", "application/gzip"},
	{0, "BZh", "application/x-bzip2"},
	{0, "\xfd7zXZ\x00", "application/x-xz"},
	{0, "\x28\xb5\x2f\xfd", "application/zstd"},
	{0, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{257, "ustar", "application/x-tar"},
	{0, "\x00asm", "application/wasm"},
	{0, "wOFF", "font/woff"},
	{0, "wOF2", "font/woff2"},
	{0, "SQLite format 3\x00", "application/vnd.sqlite3"},
}
