package resources

import (
	"io/fs"
	"os"
)

// folder is a directory whose entries are looked at one after the other, which need not find the way to it each time.
// It is opened when the first one is.
type folder struct {
	root *Root
	rel  string

	file  *os.File // nil if it could not be opened
	tried bool
}

func (d *folder) close() {
	if d.file != nil {
		d.file.Close()
	}
	d.file, d.tried = nil, false
}

// lstat is Root.lstat for an entry.
func (d *folder) lstat(name string) (fs.FileInfo, kind, error) {
	if !d.tried && d.rel != "" && d.root.reach.native {
		d.tried = true
		d.file, _ = d.root.open(d.rel, lookOnly|onlyDir) // without it each look finds out what is wrong
	}
	if d.file == nil {
		return d.root.lstat(join(d.rel, name))
	}
	return sortOut(lstatIn(d.file, name))
}

// move goes on to another directory.
func (d *folder) move(rel string) {
	if rel != d.rel {
		d.close()
		d.rel = rel
	}
}
