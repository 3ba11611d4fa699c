package resources

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// site is where a directory to serve really is.
type site struct {
	real string      // its path without links; as far as it is there
	info fs.FileInfo // nil if it is missing
}

// sitesOf finds where the directories are, which must be different ones.
func sitesOf(specs []Spec) ([]site, error) {
	var sites []site
	for _, spec := range specs {
		abs, err := absolute(spec.Dir)
		if err != nil {
			return nil, &RootError{Dir: spec.Dir, Err: err}
		}
		s := site{real: realPath(abs)}
		if fi, err := os.Stat(abs); err == nil {
			s.info = fi
		}
		for i, other := range sites {
			if s.same(other.real, other.info) {
				return nil, &RootError{Dir: spec.Dir, Other: specs[i].Dir, Err: ErrSameDirectory}
			}
		}
		sites = append(sites, s)
	}
	return sites, nil
}

// realPath resolves the links of an absolute path, as far as it leads.
func realPath(abs string) string {
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	parent := filepath.Dir(abs)
	if parent == abs {
		return abs
	}
	return filepath.Join(realPath(parent), filepath.Base(abs))
}

// same: a disk that folds case, or is mounted twice, has several paths for one directory.
func (s *site) same(real string, info fs.FileInfo) bool {
	return s.real == real || s.info != nil && info != nil && os.SameFile(s.info, info)
}

// nested returns, for each site, the paths below it of those sites that are inside it.
func nested(sites []site) [][]string {
	paths := make([][]string, len(sites))
	infos := map[string]fs.FileInfo{} // nil: nothing is there
	for _, inner := range sites {
		for at, up := inner.real, filepath.Dir(inner.real); up != at; at, up = up, filepath.Dir(up) {
			info, known := infos[up]
			if !known {
				info, _ = os.Stat(up)
				infos[up] = info
			}
			for i := range sites {
				if sites[i].same(up, info) {
					paths[i] = append(paths[i], asSpelled(up, inner.real))
				}
			}
		}
	}
	return paths
}

// asSpelled returns the path below outer of what is at real, as the disk spells it.
func asSpelled(outer, real string) string {
	rel := ""
	for at := real; at != outer; at = filepath.Dir(at) {
		rel = strings.TrimSuffix(join(onDisk(filepath.Dir(at), filepath.Base(at)), rel), "/")
	}
	return rel
}

// onDisk returns name as the directory spells it, if it has it under another spelling.
func onDisk(dir, name string) string {
	want, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return name
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return name
	}
	for _, e := range list {
		if e.Name() == name {
			return name
		}
	}
	for _, e := range list {
		if fi, err := e.Info(); err == nil && strings.EqualFold(e.Name(), name) && os.SameFile(fi, want) {
			return e.Name()
		}
	}
	return name
}
