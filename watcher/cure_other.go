//go:build !linux

package watcher

// What to do when the system refuses another watch, each of which costs open files here, or drops events.
const (
	filesCure    = "raise the limit of open files (ulimit -n)"
	watchCure    = filesCure
	instanceCure = filesCure
	queueCure    = "if this is frequent, serve a smaller directory"
)
