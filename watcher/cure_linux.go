package watcher

// What to raise when the kernel refuses another watch, another instance or another open file, or drops events.
const (
	watchCure    = "raise the sysctl fs.inotify.max_user_watches"
	instanceCure = "raise the sysctl fs.inotify.max_user_instances or the limit of open files (ulimit -n)"
	filesCure    = "raise the limit of open files (ulimit -n)"
	queueCure    = "if this is frequent, raise the sysctl fs.inotify.max_queued_events"
)
