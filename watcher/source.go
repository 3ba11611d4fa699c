package watcher

import (
	"errors"

	"github.com/fsnotify/fsnotify"
)

// errLimit is in the error of Add when the operating system grants no more watches. Its text says how to get more.
var errLimit = errors.New("watch limit reached")

// source is where events come from. It watches single directories and names what changes directly inside them, and the
// directories themselves. Names start with the path given to Add, even when the directory was moved since.
// Add, Remove, List, Cookie and Mark are called from one goroutine while another reads both channels.
type source interface {
	// Add watches a directory; a second time it makes sure that the watch is alive. It may follow a symbolic link, and may do
	// nothing at all, without an error, when the directory is already watched under another path: the caller keeps that
	// from happening.
	Add(dir string) error

	// Remove ends a watch. The source may have ended it already, when the directory was moved or removed.
	Remove(dir string)

	// List names the directories the source believes to be watched.
	List() []string

	// Cookie returns the name of the event that Mark makes. With anew it has another name than before, so that no mark made
	// until now can be taken for a later one. An error: the source makes no marks now.
	Cookie(anew bool) (name string, err error)

	// Mark has Events say the cookie's event after all that happened before. It may get lost like any other.
	Mark() error

	Events() <-chan fsnotify.Event // closed by Close
	Errors() <-chan error          // closed by Close

	// Lossy reports whether an error of Errors means that events are missing.
	Lossy(err error) bool

	Close() error
}
