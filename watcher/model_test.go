package watcher

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// model is a file system in memory with inotify, which gives the numbers of freed inodes to new ones at once. Together with
// modelSource, which does what fsnotify 1.10.1 does on Linux, it runs inside a synctest bubble and lets a test change the
// tree between any two system calls of the watcher.
type model struct {
	mu         sync.Mutex        // guards what follows
	hook       func()            // called before each system call of the watcher, if not nil
	opening    func(path string) // called before each open, if not nil
	hooking    sync.Mutex        // held while hook is called, as the watcher has several goroutines
	top        *inode
	used       uint64
	free       []uint64
	nextWd     int
	watches    map[int]*inode
	maxWatches int // 0: no limit
	queue      []rawEvent
	maxQueue   int // 0: no limit
	ready      chan struct{}
	maxDepth   int   // 0: no limit
	openErr    error // what every open fails with
	statErr    error // what every look of the watcher below the root fails with
	super      bool  // permissions do not matter to the caller of find
	clock      int64
	mounted    map[*inode]*inode // what a mount hides, by the top of what was mounted
	remounts   int               // changes of the mount table
	tick       time.Duration     // of the clock of the file system; 0: each change has a time of its own, and nothing is racy
	remote     string            // type of the file system, if it is a remote one
	muted      bool              // no event tells of what is done now
}

func (n *inode) id() identity { return identity{n.device, n.ino} }

type inode struct {
	ino     uint64
	device  uint64
	dir     bool
	link    string // target of a symbolic link
	kids    map[string]*inode
	version int64
	changed int64
	mtime   int64 // as the clock had it
	ctime   int64
	mode    modelMode
	wd      int // 0: not watched
	opens   int
	dead    bool
}

type modelMode uint8

const (
	noRead modelMode = 1 << iota
	noSearch
)

type rawMask uint8

const (
	rawCreate rawMask = iota
	rawModify
	rawAttrib
	rawDelete
	rawMovedFrom
	rawMovedTo
	rawDeleteSelf
	rawMoveSelf
	rawIgnored
	rawOverflow
)

type rawEvent struct {
	wd   int
	mask rawMask
	name string
}

func newModel() *model {
	m := &model{watches: map[int]*inode{}, ready: make(chan struct{}, 1)}
	m.top = m.newInode(true)
	return m
}

func (m *model) newInode(dir bool) *inode {
	n := &inode{dir: dir, device: 1}
	if dir {
		n.kids = map[string]*inode{}
	}
	if k := len(m.free); k > 0 {
		n.ino, m.free = m.free[k-1], m.free[:k-1]
	} else {
		m.used++
		n.ino = m.used
	}
	m.touch(n)
	return n
}

func (m *model) touch(n *inode) {
	m.clock++
	n.version, n.changed = m.clock, m.clock
	n.mtime, n.ctime = m.time(), m.time()
}

// change is a change of what the inode says of itself.
func (m *model) change(n *inode) {
	m.clock++
	n.changed, n.ctime = m.clock, m.time()
}

// touchDir is for a directory whose names have changed.
func (m *model) touchDir(d *inode) {
	m.clock++
	d.mtime, d.ctime = m.time(), m.time()
}

func (m *model) time() int64 {
	if m.tick == 0 {
		return m.clock
	}
	return time.Now().Truncate(m.tick).UnixNano()
}

func (m *model) send(n *inode, mask rawMask, name string) {
	if n.wd == 0 {
		return
	}
	m.enqueue(rawEvent{n.wd, mask, name})
}

func (m *model) enqueue(e rawEvent) {
	if m.muted {
		return
	}
	if k := len(m.queue); k > 0 && m.queue[k-1] == e {
		return
	}
	if m.maxQueue > 0 && len(m.queue) >= m.maxQueue {
		if m.queue[len(m.queue)-1].mask == rawOverflow {
			return
		}
		e = rawEvent{mask: rawOverflow}
	}
	m.queue = append(m.queue, e)
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// unlinked is called when a name of n is gone, or an open file of it is closed.
func (m *model) unlinked(n *inode) {
	if !n.dead || n.opens > 0 {
		return
	}
	if n.wd != 0 {
		m.send(n, rawDeleteSelf, "")
		m.unwatch(n)
	}
	m.free = append(m.free, n.ino)
}

func (m *model) unwatch(n *inode) {
	m.enqueue(rawEvent{n.wd, rawIgnored, ""})
	delete(m.watches, n.wd)
	n.wd = 0
}

func parts(path string) []string {
	path = filepath.ToSlash(strings.TrimPrefix(path, filepath.VolumeName(path)))
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// find returns the directory that holds path's last element, that element, and what is there or nil.
func (m *model) find(path string, follow bool, depth int) (dir *inode, name string, n *inode, err error) {
	if depth > 8 {
		return nil, "", nil, syscall.ELOOP
	}
	n = m.top
	elems := parts(path)
	if m.maxDepth > 0 && len(elems) > m.maxDepth {
		return nil, "", nil, syscall.ENAMETOOLONG
	}
	for i, elem := range elems {
		last := i == len(elems)-1
		if !n.dir {
			return nil, "", nil, syscall.ENOTDIR
		}
		if n.mode&noSearch != 0 && !m.super {
			return nil, "", nil, syscall.EACCES
		}
		dir, name = n, elem
		n = dir.kids[name]
		if n == nil {
			if last {
				return dir, name, nil, nil
			}
			return nil, "", nil, syscall.ENOENT
		}
		if n.link != "" && (!last || follow) {
			_, _, to, err := m.find(n.link, true, depth+1)
			if err != nil {
				return nil, "", nil, err
			}
			if to == nil {
				return nil, "", nil, syscall.ENOENT
			}
			n = to
		}
	}
	return dir, name, n, nil
}

// The operations of a user. They return an error where Linux would.

func (m *model) place(path string) (dir *inode, name string, n *inode, err error) {
	dir, name, n, err = m.find(path, false, 0)
	if err == nil && dir == nil {
		err = syscall.EBUSY
	}
	return dir, name, n, err
}

func (m *model) mkdir(path string) error { return m.make(path, true, "") }

func (m *model) symlink(target, path string) error { return m.make(path, false, target) }

func (m *model) make(path string, dir bool, link string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	if n != nil {
		return syscall.EEXIST
	}
	n = m.newInode(dir)
	n.link, n.device = link, d.device
	d.kids[name] = n
	m.touchDir(d)
	m.send(d, rawCreate, name)
	return nil
}

func (m *model) write(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	if n == nil {
		n = m.newInode(false)
		n.device = d.device
		d.kids[name] = n
		m.touchDir(d)
		m.send(d, rawCreate, name)
	}
	if n.dir || n.link != "" {
		return syscall.EISDIR
	}
	m.touch(n)
	m.send(d, rawModify, name)
	return nil
}

func (m *model) remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	if n == nil {
		return syscall.ENOENT
	}
	if len(n.kids) > 0 {
		return syscall.ENOTEMPTY
	}
	delete(d.kids, name)
	m.touchDir(d)
	m.send(d, rawDelete, name)
	n.dead = true
	m.unlinked(n)
	return nil
}

func (m *model) rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fd, fname, f, err := m.place(from)
	if err != nil {
		return err
	}
	td, tname, t, err := m.place(to)
	switch {
	case err != nil:
		return err
	case f == nil:
		return syscall.ENOENT
	case t == f:
		return nil
	case f.dir && within(f, td):
		return syscall.EINVAL
	case t != nil && within(t, f), t != nil && len(t.kids) > 0:
		return syscall.ENOTEMPTY
	case t != nil && t.dir != f.dir:
		return syscall.EISDIR
	}
	delete(fd.kids, fname)
	td.kids[tname] = f
	m.change(f)
	m.touchDir(fd)
	m.touchDir(td)
	m.send(fd, rawMovedFrom, fname)
	m.send(td, rawMovedTo, tname)
	m.send(f, rawMoveSelf, "")
	if t != nil {
		t.dead = true
		m.unlinked(t)
	}
	return nil
}

func (m *model) exchange(a, b string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ad, aname, an, err := m.place(a)
	if err != nil {
		return err
	}
	bd, bname, bn, err := m.place(b)
	switch {
	case err != nil:
		return err
	case an == nil || bn == nil:
		return syscall.ENOENT
	case an == bn:
		return nil
	case within(an, bd) || within(bn, ad):
		return syscall.EINVAL
	}
	ad.kids[aname], bd.kids[bname] = bn, an
	m.change(an)
	m.change(bn)
	m.touchDir(ad)
	m.touchDir(bd)
	m.send(ad, rawMovedFrom, aname)
	m.send(bd, rawMovedTo, bname)
	m.send(an, rawMoveSelf, "")
	m.send(bd, rawMovedFrom, bname)
	m.send(ad, rawMovedTo, aname)
	m.send(bn, rawMoveSelf, "")
	return nil
}

func within(top, n *inode) bool {
	if top == n {
		return true
	}
	for _, k := range top.kids {
		if within(k, n) {
			return true
		}
	}
	return false
}

func (m *model) chmod(path string, mode modelMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	if n == nil || n.link != "" {
		return syscall.ENOENT
	}
	n.mode = mode
	m.change(n)
	m.send(d, rawAttrib, name)
	m.send(n, rawAttrib, "")
	return nil
}

// mount puts an empty file system over a directory, without an event.
func (m *model) mount(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	if n == nil || !n.dir {
		return syscall.ENOTDIR
	}
	top := &inode{dir: true, kids: map[string]*inode{}, ino: 1, device: uint64(2 + len(m.mounted))} // used again, as Linux does
	m.touch(top)
	if m.mounted == nil {
		m.mounted = map[*inode]*inode{}
	}
	m.mounted[top] = n
	d.kids[name] = top
	m.remounts++
	return nil
}

// unmount ends all watches in the file system, of which only the source learns.
func (m *model) unmount(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	hidden := m.mounted[n]
	if hidden == nil {
		return syscall.EINVAL
	}
	delete(m.mounted, n)
	d.kids[name] = hidden
	for _, k := range m.watches {
		if k.device == n.device {
			m.unwatch(k)
		}
	}
	m.remounts++
	return nil
}

// modelTable is the mount table of the model.
type modelTable struct {
	*model
	seen   int
	closed bool
}

func (t *modelTable) changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		panic("the mount table is closed")
	}
	changed := t.remounts != t.seen
	t.seen = t.remounts
	return changed
}

func (t *modelTable) list() ([]mount, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []mount{{string(filepath.Separator), ""}}
	t.mountsBelow(t.top, filepath.VolumeName(modelBase), &all)
	return all, nil
}

func (t *modelTable) mountsBelow(n *inode, path string, all *[]mount) {
	if t.mounted[n] != nil {
		*all = append(*all, mount{path, fmt.Sprint(n.device)})
	}
	for name, k := range n.kids {
		t.mountsBelow(k, path+string(filepath.Separator)+name, all)
	}
}

func (t *modelTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// utimes sets the times of a directory.
func (m *model) utimes(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, name, n, err := m.place(path)
	if err != nil {
		return err
	}
	if n == nil || !n.dir {
		return syscall.ENOTDIR
	}
	m.touch(n)
	m.send(d, rawAttrib, name)
	m.send(n, rawAttrib, "")
	return nil
}

// What follows serves consumers and the final comparison.

// peek returns what is at path, or nil, for someone to whom permissions do not matter.
func (m *model) peek(path string) *inode {
	m.super = true
	defer func() { m.super = false }()
	_, _, n, err := m.find(path, false, 0)
	if err != nil {
		return nil
	}
	return n
}

func (m *model) accessible(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.peek(path)
	return n != nil && n.mode == 0
}

func (m *model) look(path string) (e entry, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.peek(path)
	if n == nil {
		return entry{}, false
	}
	switch {
	case n.dir:
		return entry{kind: 'd', ino: n.ino}, true
	case n.link != "":
		return entry{kind: 'l', ino: n.ino, changed: n.changed, content: n.link}, true
	}
	return entry{kind: 'f', ino: n.ino, modified: n.version, changed: n.changed, content: fmt.Sprint(n.version)}, true
}

func (m *model) list(path string) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.peek(path)
	if n == nil {
		return nil
	}
	for name := range n.kids {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (m *model) watched(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.peek(path)
	return n != nil && n.wd != 0
}

func (m *model) kernelWatches() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.watches)
}

// The system calls of the watcher.

func (m *model) stat(path string, follow bool) (stat, error) {
	m.interpose()
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, n, err := m.find(path, follow, 0)
	switch {
	case err != nil:
		return stat{}, err
	case n == nil:
		return stat{}, syscall.ENOENT
	case m.statErr != nil && !follow:
		return stat{}, m.statErr
	case !n.dir:
		return stat{}, nil
	}
	return stat{n.id(), true, n.mtime}, nil
}

func (m *model) facts(path string, follow bool) (facts, error) {
	if in, ok := strings.CutSuffix(path, string(filepath.Separator)+".."); ok {
		path = filepath.Dir(in)
	}
	m.interpose()
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, n, err := m.find(path, follow, 0)
	if err == nil && n == nil {
		err = syscall.ENOENT
	}
	if err != nil {
		return facts{}, err
	}
	return n.facts(), nil
}

func (n *inode) facts() facts {
	f := facts{kind: file, device: n.device, inode: n.ino, mode: uint32(n.mode), mtime: n.mtime, ctime: n.ctime}
	if n.dir {
		f.kind = directory
	} else if n.link != "" {
		f.kind = link
	}
	return f
}

func (m *model) open(path string, follow bool) (folder, error) {
	m.interpose()
	m.mu.Lock()
	opening := m.opening
	m.mu.Unlock()
	if opening != nil {
		opening(path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, n, err := m.find(path, follow, 0)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		return nil, syscall.ENOENT
	case !n.dir:
		return nil, syscall.ENOTDIR
	case n.mode&noRead != 0:
		return nil, syscall.EACCES
	case m.openErr != nil:
		return nil, m.openErr
	}
	n.opens++
	return &modelFolder{m, n, n.mtime}, nil
}

func (m *model) interpose() {
	m.mu.Lock()
	hook := m.hook
	m.mu.Unlock()
	if hook != nil {
		m.hooking.Lock()
		defer m.hooking.Unlock()
		hook()
	}
}

// limitQueue has the kernel keep n events at most, 0 for any number.
func (m *model) limitQueue(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.maxQueue = n
}

// silently does what no event tells of.
func (m *model) silently(do func()) {
	m.mute(true)
	do()
	m.mute(false)
}

// fail has each look of the watcher below the root fail, and each open, if not nil, and limits the watches, unless to 0.
func (m *model) fail(look, open error, watches int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statErr, m.openErr, m.maxWatches = look, open, watches
}

// onOpen has f called before each open, if not nil.
func (m *model) onOpen(f func(path string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opening = f
}

// setTick has the clock of the file system stand still for so long each time.
func (m *model) setTick(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tick = d
}

// setRemote has the file system be of a type that can be changed from elsewhere, or with "" of none.
func (m *model) setRemote(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remote = kind
}

// mute keeps the kernel from telling of what is done.
func (m *model) mute(muted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.muted = muted
}

// interrupt has hook called before each system call of the watcher.
func (m *model) interrupt(hook func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = hook
}

type modelFolder struct {
	m *model
	n *inode

	since int64
}

func (f *modelFolder) id() identity    { return f.n.id() }
func (f *modelFolder) modified() int64 { return f.since }

func (f *modelFolder) remoteType() string {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.m.remote
}

func (f *modelFolder) names() (names []string, err error) {
	f.m.interpose()
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return slices.Collect(maps.Keys(f.n.kids)), nil
}

func (f *modelFolder) facts(name string, _ age) (facts, error) {
	f.m.interpose()
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	n := f.n
	if name != "" {
		n = f.n.kids[name]
	}
	switch {
	case name != "" && f.n.mode&noSearch != 0:
		return facts{}, syscall.EACCES
	case n == nil:
		return facts{}, syscall.ENOENT
	}
	return n.facts(), nil
}

func (f *modelFolder) searchable() bool {
	f.m.interpose()
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.n.mode&noSearch == 0
}

func (f *modelFolder) subdirs(each func(string)) error {
	f.m.interpose()
	f.m.mu.Lock()
	var names []string
	for name, k := range f.n.kids {
		if k.dir {
			names = append(names, name)
		}
	}
	f.m.mu.Unlock()
	slices.Sort(names)
	for _, name := range names {
		each(name)
	}
	return nil
}

func (f *modelFolder) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.opens--
	f.m.unlinked(f.n)
	return nil
}

// modelSource is fsnotify 1.10.1 over the model's inotify: what its maps hold, when it forgets, which events it suppresses.
type modelSource struct {
	m        *model
	closeErr error // what Close returns
	events   chan fsnotify.Event
	errs     chan error
	done     chan struct{}
	ended    chan struct{}

	mu   sync.Mutex // guards the maps
	path map[string]int
	wd   map[int]string
	mark int  // watch of the cookie
	mute bool // no cookie can be had
}

func newModelSource(m *model) *modelSource {
	s := &modelSource{
		m:      m,
		events: make(chan fsnotify.Event, eventBuffer),
		errs:   make(chan error),
		done:   make(chan struct{}),
		ended:  make(chan struct{}),
		path:   map[string]int{},
		wd:     map[int]string{},
	}
	go s.read()
	return s
}

func (s *modelSource) Events() <-chan fsnotify.Event { return s.events }
func (s *modelSource) Errors() <-chan error          { return s.errs }
func (s *modelSource) Lossy(err error) bool          { return !errors.Is(err, syscall.EINVAL) }

func (s *modelSource) Close() error {
	close(s.done)
	<-s.ended
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for _, n := range s.m.watches {
		n.wd = 0
	}
	clear(s.m.watches)
	return s.closeErr
}

func (s *modelSource) Add(dir string) error {
	s.m.interpose()
	s.mu.Lock()
	defer s.mu.Unlock()
	wd, err := s.m.addWatch(dir)
	if err != nil {
		return err
	}
	old, existing := s.path[dir]
	if other, known := s.wd[wd]; known {
		s.path[other] = wd
		if existing && old != wd {
			delete(s.wd, old)
		}
		return nil
	}
	if existing {
		delete(s.wd, old)
	}
	s.path[dir], s.wd[wd] = wd, dir
	return nil
}

func (m *model) addWatch(dir string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, n, err := m.find(dir, true, 0)
	switch {
	case err != nil:
		return 0, err
	case n == nil:
		return 0, syscall.ENOENT
	case n.mode&noRead != 0:
		return 0, syscall.EACCES
	case n.wd == 0 && m.maxWatches > 0 && len(m.watches) >= m.maxWatches:
		return 0, fmt.Errorf("%w: %v", errLimit, syscall.ENOSPC)
	}
	if n.wd == 0 {
		m.nextWd++
		n.wd = m.nextWd
		m.watches[n.wd] = n
	}
	return n.wd, nil
}

func (s *modelSource) Remove(dir string) {
	s.m.interpose()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(dir)
}

// forget reports whether the kernel knew the watch.
func (s *modelSource) forget(dir string) bool {
	wd, ok := s.path[dir]
	if !ok {
		return true
	}
	delete(s.path, dir)
	if _, ok := s.wd[wd]; !ok {
		return true // fsnotify dereferences nil here
	}
	delete(s.wd, wd)
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	n := s.m.watches[wd]
	if n == nil {
		return false
	}
	s.m.unwatch(n)
	return true
}

func (s *modelSource) List() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.path {
		paths = append(paths, p)
	}
	return paths
}

func (s *modelSource) Cookie(anew bool) (string, error) {
	s.m.interpose()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mute {
		return "", syscall.ENOSPC
	}
	if s.mark == 0 || anew {
		name := "cookie"
		if s.wd[s.mark] == name {
			name = "another cookie"
		}
		delete(s.wd, s.mark)
		s.m.mu.Lock()
		s.m.nextWd++
		s.mark = s.m.nextWd
		s.m.mu.Unlock()
		s.wd[s.mark] = name
	}
	return s.wd[s.mark], nil
}

func (s *modelSource) Mark() error {
	s.m.interpose()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.enqueue(rawEvent{s.mark, rawAttrib, ""})
	return nil
}

func (s *modelSource) read() {
	defer close(s.ended)
	defer close(s.errs)
	defer close(s.events)
	for {
		select {
		case <-s.m.ready:
		case <-s.done:
			return
		}
		s.m.mu.Lock()
		queue := s.m.queue
		s.m.queue = nil
		s.m.mu.Unlock()
		for _, raw := range queue {
			if raw.mask == rawOverflow && !s.fail(fsnotify.ErrEventOverflow) {
				return
			}
			e, ok := s.handle(raw)
			if !ok {
				return
			}
			if e.Op == 0 {
				continue
			}
			select {
			case s.events <- e:
			case <-s.done:
				return
			}
		}
	}
}

func (s *modelSource) fail(err error) bool {
	select {
	case s.errs <- err:
		return true
	case <-s.done:
		return false
	}
}

func (s *modelSource) handle(raw rawEvent) (e fsnotify.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, known := s.wd[raw.wd]
	if !known {
		return e, true
	}
	e.Name = dir
	if raw.name != "" {
		e.Name += string(filepath.Separator) + raw.name
	}
	switch raw.mask {
	case rawIgnored, rawDeleteSelf:
		delete(s.path, dir)
		delete(s.wd, raw.wd)
		if _, parented := s.path[filepath.Dir(dir)]; !parented && raw.mask == rawDeleteSelf {
			e.Op = fsnotify.Remove
		}
	case rawMoveSelf:
		if !s.forget(dir) && !s.fail(syscall.EINVAL) {
			return e, false
		}
		e.Op = fsnotify.Rename
	case rawCreate, rawMovedTo:
		e.Op = fsnotify.Create
	case rawModify:
		e.Op = fsnotify.Write
	case rawAttrib:
		e.Op = fsnotify.Chmod
	case rawDelete:
		e.Op = fsnotify.Remove
	case rawMovedFrom:
		e.Op = fsnotify.Rename
	}
	return e, true
}
