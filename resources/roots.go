package resources

import (
	"errors"
	"fmt"
	"slices"
)

// Errors of OpenRoots, besides those of Open.
var (
	ErrBadName       = errors.New("not a name: it takes lower case letters, digits, dots and hyphens, and starts with a letter or digit")
	ErrNameTaken     = errors.New("they have the same name")
	ErrSameDirectory = errors.New("they are the same directory")
)

// Spec is a directory to serve, with the name it goes by where there are several.
type Spec struct {
	// Name is made of a-z, 0-9, dots and hyphens, and begins with a letter or digit: it can be the authority of a URI.
	// Empty: it is derived from the last segment of Dir, with a number behind it if another directory has that name.
	Name string
	// Dir is the path of the directory on this machine, absolute or from the current directory on. It may be a link.
	Dir string
}

// RootError says which directory cannot be served, and why.
type RootError struct {
	Dir   string // as in its Spec
	Other string // for ErrNameTaken and ErrSameDirectory: Dir of the earlier Spec that it is at odds with
	Err   error
}

func (e *RootError) Error() string {
	if e.Other != "" {
		return fmt.Sprintf("%s and %s: %v", e.Other, e.Dir, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Dir, e.Err)
}

func (e *RootError) Unwrap() error { return e.Err }

// OpenRoots opens the directories in order, with opts for each. The base of one is opts.Base; with several, NAME/ follows it.
// A root inside another one owns its subtree, where the outer one ends. Where directories really are counts for that, as
// links lead now. A missing directory is opened all the same if another is there, and served when it appears. The error is a
// *RootError that wraps ErrMissing if all are missing, ErrNotDirectory, ErrUnreadable, ErrBadBase, ErrBadName, ErrNameTaken
// or ErrSameDirectory.
func OpenRoots(specs []Spec, opts *Options) ([]*Root, error) {
	if len(specs) == 0 {
		return nil, &RootError{Err: ErrMissing}
	}
	if opts == nil {
		opts = &Options{}
	}
	if opts.Base != "" { // before a name follows it
		if err := CheckBase(opts.Base); err != nil {
			return nil, &RootError{Dir: specs[0].Dir, Err: err}
		}
	}
	names, err := Names(specs)
	if err != nil {
		return nil, err
	}
	sites, err := sitesOf(specs)
	if err != nil {
		return nil, err
	}
	inner := nested(sites)
	var roots []*Root
	missing := 0
	for i, spec := range specs {
		own := *opts
		own.Without = slices.Concat(opts.Without, inner[i])
		if len(specs) > 1 && own.Base != "" {
			own.Base += names[i] + "/"
		}
		r, err := newRoot(spec.Dir, &own)
		if err == nil {
			r.name = names[i]
			roots = append(roots, r)
			err = r.check()
		}
		if errors.Is(err, ErrMissing) && r != nil {
			missing++
		} else if err != nil {
			closeAll(roots)
			return nil, &RootError{Dir: spec.Dir, Err: err}
		}
	}
	if missing == len(specs) {
		closeAll(roots)
		return nil, &RootError{Dir: specs[0].Dir, Err: ErrMissing}
	}
	return roots, nil
}

func closeAll(roots []*Root) {
	for _, r := range roots {
		r.Close()
	}
}
