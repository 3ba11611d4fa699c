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

// within returns the paths below s of those sites that are inside it.
func (s *site) within(sites []site) (paths []string) {
	for _, inner := range sites {
		if rel := s.pathOf(inner.real); rel != "" {
			paths = append(paths, rel)
		}
	}
	return paths
}

// pathOf returns the path below s of what is at real, as the disk spells it, and "" if it is not below s.
func (s *site) pathOf(real string) string {
	rel := ""
	for up := real; ; {
		parent := filepath.Dir(up)
		if parent == up {
			return ""
		}
		rel = strings.TrimSuffix(join(onDisk(parent, filepath.Base(up)), rel), "/")
		up = parent
		if fi, err := os.Stat(up); s.real == up || err == nil && s.same(up, fi) {
			return rel
		}
	}
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
