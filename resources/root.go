package resources

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// Errors of Open and OpenRoots, for the hint that a user needs.
var (
	ErrMissing      = errors.New("no such directory")
	ErrNotDirectory = errors.New("not a directory")
	ErrUnreadable   = errors.New("cannot be read")
	ErrBadBase      = errors.New("not a URI base") // what is wrong with it follows
)

// Options configure a Root. A nil *Options is the default.
type Options struct {
	// Base is what every URI begins with: a scheme and what may follow it up to a path, percent-encoded, with "/" at the
	// end. Default: file://, the absolute path of the directory, and "/" (RFC 8089).
	Base string
	// MaxSize is how many bytes the largest content has that is read, the list of a directory's children included. Default,
	// and for what is not above 0: 16 MiB.
	MaxSize int64
	// Logger is told what its owner may want to see to, without paths of the host. Default: nobody is.
	Logger *slog.Logger
	// Select says what is served. It must not change any more. Default: what no rule hides.
	Select *Selection
	// Without are paths below the directory, with slashes, that are roots of their own: neither they nor what is in them is
	// served or watched here. OpenRoots adds those it finds.
	Without []string
}

// Root is one served directory.
type Root struct {
	dir     string // absolute
	name    string
	base    base
	maxSize int64
	log     *slog.Logger
	who     *reader
	disk    disk
	reach   reach

	outermost *scope // above that of the directory; nil for the defaults
	targets   *scope // the same for where links lead
	noIgnore  bool   // ignore files are not read

	writer   sync.Mutex // serialises Load and Apply and is held during their I/O
	complete bool       // the whole tree is loaded
	links    linkIndex  // which visible links lead where
	owed     debts      // to the next Apply
	grumbled bool       // it was said that the disk cannot be looked at

	mu        sync.RWMutex      // guards what follows, and the tree as dir says; never held during I/O
	tree      *dir              // the directory itself
	progress  chan struct{}     // closed by Load and replaced when it has learnt something and somebody waits
	early     map[string]*stat  // what Baseline found before the end of Load, nil for nothing served; nil since then
	scopes    map[string]*scope // of directories the index does not know, read on demand
	missed    Missed            // by Load
	applied   uint64            // counts batches, so that no older scope enters scopes
	answered  map[string]*scope // what Skip went by in such directories, until the index knows them
	forgotten bool              // some of answered had to go

	loaded  chan struct{} // closed by Load when it has learnt all
	said    sync.Map      // paths of ignore files that were warned of
	waiting atomic.Int32  // how many wait for progress
	ways    atomic.Uint64 // counts changes of where links lead, and of which directories are visible
	twins   twins         // which files share an inode
	ahead   ahead         // what readers know and the index does not
	surveys surveyCache   // of large files
}

// Open prepares to serve the directory path. It reads nothing of the tree: Load does. The error wraps ErrMissing, ErrNotDirectory,
// ErrUnreadable or ErrBadBase.
func Open(path string, opts *Options) (*Root, error) {
	r, err := newRoot(path, opts)
	if err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// newRoot is Open for what need not be there.
func newRoot(path string, opts *Options) (*Root, error) {
	if opts == nil {
		opts = &Options{}
	}
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	r := &Root{
		dir:      abs,
		name:     deriveName(abs),
		maxSize:  opts.MaxSize,
		log:      opts.Logger,
		who:      self(),
		disk:     disk{path: abs},
		progress: make(chan struct{}),
		early:    make(map[string]*stat),
		loaded:   make(chan struct{}),
	}
	r.outermost, r.targets = opts.Select.outermost(opts.Without)
	r.noIgnore = opts.Select != nil && opts.Select.NoIgnore
	r.tree = &dir{in: r.outermost}
	if r.maxSize <= 0 {
		r.maxSize = 16 << 20
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	prefix := opts.Base
	if prefix == "" {
		prefix = fileBase(abs)
	} else if err := CheckBase(prefix); err != nil {
		return nil, err
	}
	r.base = newBase(prefix)
	r.reach.native = nativeReach()
	r.refresh()
	return r, nil
}

// absolute returns the path that is served for dir. No name at all is a slip, and does not mean the current directory.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", ErrMissing
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrMissing, err)
	}
	return abs, nil
}

// Name is what the root goes by where there are several.
func (r *Root) Name() string { return r.name }

// Dir returns the absolute path of the directory.
func (r *Root) Dir() string { return r.dir }

// Missing reports whether no directory is there now. What is served is nothing then, until one appears.
func (r *Root) Missing() bool {
	fi, err := os.Stat(r.dir)
	return err != nil || !fi.IsDir()
}

// check tells why the directory cannot be served.
func (r *Root) check() error {
	fi, err := os.Stat(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMissing
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", ErrUnreadable, hostless(err))
	case err != nil:
		return fmt.Errorf("%w: %s", ErrMissing, reason(err))
	case !fi.IsDir():
		return ErrNotDirectory
	}
	if _, err := r.readDir("", 1); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, hostless(err))
	}
	return nil
}

// Close ends the serving of files: none is opened from now on. Reads that are under way go on.
func (r *Root) Close() error {
	r.disk.close()
	return nil
}

// host returns the path of rel on this machine. It goes into system calls, never into an answer.
func (r *Root) host(rel string) string { return below(r.dir, rel) }

func below(dir, rel string) string {
	if rel == "" {
		return dir
	}
	if strings.HasSuffix(dir, string(filepath.Separator)) { // the root of a volume
		return dir + filepath.FromSlash(rel)
	}
	return dir + string(filepath.Separator) + filepath.FromSlash(rel)
}
