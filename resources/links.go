package resources

import (
	"errors"
	"io/fs"
	"slices"
)

// link is a symbolic link with a visible name. It is served while it resolves, inside the root, to a regular file. Links
// that do not are kept too: their target may appear.
type link struct {
	dir    *dir
	name   string
	target string // where it led when last looked at, "" for nowhere

	// through are the names on the way that are not above the link itself: directories, other links, and at the end the
	// target or the first name that was not there or not of use. A change to none of them changes where the link leads.
	through []string
}

func (l *link) rel() string { return join(l.dir.path(), l.name) }

// end is the name where following the link ended, "" if there was none.
func (l *link) end() string {
	if len(l.through) == 0 {
		return ""
	}
	return l.through[len(l.through)-1]
}

// linkIndex finds the links that a change to a path concerns. Root.writer guards it.
type linkIndex struct {
	by    map[string]map[*link]struct{} // the links that lead through a path
	stuck map[string]map[*link]struct{} // those of them that lead no further: what appears below it may matter too
}

func (x *linkIndex) add(l *link) {
	for _, p := range l.through {
		into(&x.by, p, l)
	}
	if l.target == "" && l.end() != "" {
		into(&x.stuck, l.end(), l)
	}
}

func (x *linkIndex) remove(l *link) {
	for _, p := range l.through {
		outOf(x.by, p, l)
	}
	if l.target == "" && l.end() != "" {
		outOf(x.stuck, l.end(), l)
	}
}

func into(sets *map[string]map[*link]struct{}, p string, l *link) {
	if *sets == nil {
		*sets = make(map[string]map[*link]struct{})
	}
	set := (*sets)[p]
	if set == nil {
		set = make(map[*link]struct{})
		(*sets)[p] = set
	}
	set[l] = struct{}{}
}

func outOf(sets map[string]map[*link]struct{}, p string, l *link) {
	delete(sets[p], l)
	if len(sets[p]) == 0 {
		delete(sets, p)
	}
}

// lead is what following a link comes to.
type lead struct {
	stat    *stat // nil: nothing that can be served
	target  string
	through []string
	missing bool // the last of through does not exist
}

// resolve follows the link at rel.
func (r *Root) resolve(rel string) (lead, error) {
	where, err := r.attempt(rel)
	defer where.close()
	to := lead{through: where.through}
	switch {
	case err != nil && passing(err):
		return lead{}, err
	case err != nil:
		to.missing = errors.Is(err, fs.ErrNotExist)
	case where.links > 0 && where.info.Mode().IsRegular():
		to.stat = newStat(where.info, r.who)
		to.stat.link = true
		to.target = where.path()
	}
	return to, nil
}

// newLink records the link name of d, which was not known.
func (r *Root) newLink(d *dir, name string) *link {
	l := &link{dir: d, name: name}
	if d.links == nil {
		d.links = make(map[string]*link)
	}
	d.links[name] = l
	r.links.add(l)
	return l
}

func (r *Root) dropLink(l *link) {
	r.ways.Add(1)
	r.links.remove(l)
	delete(l.dir.links, l.name)
}

// lead makes l lead where it was found to.
func (r *Root) lead(l *link, to lead) {
	if l.target == to.target && slices.Equal(l.through, to.through) {
		return
	}
	r.ways.Add(1)
	r.links.remove(l)
	l.target, l.through = to.target, to.through
	r.links.add(l)
}

// addLink records a link that was not known and returns its file, nil if it is not served.
func (r *Root) addLink(d *dir, rel, name string) (*file, error) {
	l := r.newLink(d, name)
	to, err := r.resolve(rel)
	if err != nil {
		return nil, err
	}
	r.lead(l, to)
	if to.stat == nil {
		return nil, nil
	}
	f := &file{name: name}
	f.stat.Store(to.stat)
	return f, nil
}
