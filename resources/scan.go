package resources

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// kind is what a name stands for.
type kind uint8

const (
	nothing   kind = iota // absent, or neither of the others: FIFOs, sockets and devices are not served
	regular               // a file
	directory             // not through a link
	symlink               // to whatever
)

func kindOf(mode fs.FileMode) kind {
	switch mode.Type() {
	case 0:
		return regular
	case fs.ModeDir:
		return directory
	case fs.ModeSymlink:
		return symlink
	}
	return nothing
}

// entry is a name in a directory.
type entry struct {
	name string
	kind kind
}

// readDir lists the first n entries of a directory, or all for n < 0, in no order. The directory itself is never a link,
// but for the root.
func (r *Root) readDir(rel string, n int) ([]entry, error) {
	flags := os.O_RDONLY | onlyDir | noBlock
	if rel != "" {
		flags |= noFollow
	}
	f, err := r.open(rel, flags)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := entriesIn(f, n)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 { // a directory that may be listed but not entered holds nothing that can be served
		if _, err := os.Lstat(r.host(rel) + "/."); errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return list, nil
}

// entriesSlowly is readDir for an open directory, on any system.
func entriesSlowly(dir *os.File, n int) ([]entry, error) {
	list, err := dir.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	out := make([]entry, 0, len(list))
	for _, e := range list {
		out = append(out, entry{e.Name(), kindOf(e.Type())})
	}
	return out, nil
}

// scan lists what of a directory is visible, by name, and the scope in force there. above is the parent's scope.
func (r *Root) scan(rel string, above *scope) ([]entry, *scope, error) {
	list, found, err := r.readAll(rel)
	if err != nil {
		return nil, above.unread(rel, nil), err
	}
	in := above.own(rel, found.raw, nil)
	return visible(list, rel, in), in, nil
}

// readAll lists all of a directory, in no order, and reads its ignore files.
func (r *Root) readAll(rel string) ([]entry, ignoreFiles, error) {
	list, err := r.readDir(rel, -1)
	if err != nil {
		return nil, noIgnoreFiles, err
	}
	for _, e := range list {
		if isIgnoreName(e.name) && (e.kind == regular || e.kind == symlink) {
			found, err := r.readIgnore(rel)
			return list, found, err
		}
	}
	return list, noIgnoreFiles, nil
}

// visible returns what of the entries of a directory is to be shown, in order.
func visible(list []entry, rel string, in *scope) []entry {
	list = slices.DeleteFunc(list, func(e entry) bool {
		return e.kind == nothing || verdictOn(in, rel, e.name, e.kind == directory).hidden()
	})
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list
}

func findEntry(sorted []entry, name string) (entry, bool) {
	i, ok := slices.BinarySearchFunc(sorted, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return entry{}, false
	}
	return sorted[i], true
}

// ignoreFiles is what the ignore files of a directory hold.
type ignoreFiles struct {
	raw    rawRules
	absent [len(ignoreNames)]bool
}

var noIgnoreFiles = ignoreFiles{absent: [len(ignoreNames)]bool{true, true}}

// hideAll stands for the text of an ignore file that cannot be read: what its owner wanted hidden must not be shown.
// The second line, which is empty to git, tells it from a file that says the same.
const hideAll = "*\n\x00"

// readIgnore reads the ignore files of a directory. One that is a link is not followed, as in git. An error means that
// what they say is not known now, for a passing reason; then what is not known to be visible must not be shown.
func (r *Root) readIgnore(rel string) (found ignoreFiles, err error) {
	if r.noIgnore {
		return noIgnoreFiles, nil
	}
	for i, name := range ignoreNames {
		p := join(rel, name)
		text, err := r.readRules(p)
		switch {
		case err == nil:
			found.raw[i] = text
			r.said.Delete(p)
		case passing(err):
			return found, err
		case errors.Is(err, errIgnoreLink):
			r.once(p, "an ignore file that is a link is not followed and hides nothing", "file", p)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP): // rel may be no directory
			found.absent[i] = true
			r.said.Delete(p)
		case errors.Is(err, errShut): // whoever lists it says so
			found.raw[i] = hideAll
		default:
			found.raw[i] = hideAll
			r.once(p, "an ignore file cannot be read, so nothing in its directory is served", "file", p, "reason", reason(err))
		}
	}
	return found, nil
}

var (
	errIgnoreSize = errors.New("larger than 4 MiB")
	errIgnoreLink = errors.New("a link")
	errShut       = errors.New("in a directory that may not be entered")
	errDisk       = errors.New("input/output error")
)

// once warns of a file, and not again before all is well with it.
func (r *Root) once(rel, message string, args ...any) {
	if _, said := r.said.LoadOrStore(rel, true); !said {
		r.log.Warn(message, args...)
	}
}

func (r *Root) readRules(rel string) (string, error) {
	const most = 4 << 20
	fi, err := r.info(rel)
	if errors.Is(err, fs.ErrPermission) {
		return "", errShut
	}
	if err != nil {
		return "", err
	}
	switch kindOf(fi.Mode()) {
	case regular:
	case symlink:
		return "", errIgnoreLink
	default:
		return "", fs.ErrNotExist
	}
	f, err := r.open(rel, os.O_RDONLY|noFollow|noBlock)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return "", fs.ErrNotExist
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if len(text) > most {
		err = errIgnoreSize
	}
	return string(text), err
}

// lstat tells what is at rel without following a link. An error that says that nothing can be had there is no error.
func (r *Root) lstat(rel string) (fs.FileInfo, kind, error) {
	return sortOut(r.info(rel))
}

func sortOut(fi fs.FileInfo, err error) (fs.FileInfo, kind, error) {
	switch {
	case err == nil:
		return fi, kindOf(fi.Mode()), nil
	case passing(err):
		return nil, nothing, err
	}
	return nil, nothing, nil
}

// passing reports an error that says nothing about the path, such as a lack of descriptors or memory.
func passing(err error) bool {
	var no syscall.Errno
	if !errors.As(err, &no) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	switch no {
	case syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL:
		return false
	}
	return true
}

// reason is the text of hostless.
func reason(err error) string { return hostless(err).Error() }

// hostless is err without any path of the host.
func hostless(err error) error {
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		return no
	case errors.Is(err, fs.ErrPermission):
		return fs.ErrPermission
	case errors.Is(err, errIgnoreSize):
		return errIgnoreSize
	}
	return errDisk
}
