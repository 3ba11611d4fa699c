package watcher

import (
	"log/slog"
	"sync"
	"time"
)

// message is the text of a line of the log. Those of a condition come in pairs: one when it begins, one when it is over.
type message string

const (
	lossBegins message = "events were lost, the whole tree is scanned again"
	lossEnds   message = "no more events were lost for a minute, and all has been scanned"

	sourceFails  message = "the system gives no notifications, so directories are polled: " + byLooking
	watchesFail  message = "not every directory can be watched, so the others are polled: " + byLooking
	watchesWork  message = "every directory can be watched again"
	remoteBegins message = "directories on a file system that can be changed from elsewhere are polled: " + byLooking
	remoteEnds   message = "no directory is on a file system that can be changed from elsewhere any more"
	pollingAsked message = "polling, as asked: " + byLooking
	pollingHere  message = "polling, since the notifications of this system are not used: " + byLooking
	lookFails    message = "a directory cannot be looked at, so changes in it are found later"
	lookWorks    message = "every directory can be looked at again"

	unwatchedBegins message = "not every directory can be watched, the others are scanned every few seconds"
	unwatchedEnds   message = "every directory is watched again"
	twiceBegins     message = "one directory is mounted at two paths and watched at one, what is ignored there is scanned at the other every few seconds"

	closedBegins message = "directories cannot be read, so that nothing in them is served until they can"
	closedEnds   message = "every directory can be read again"

	rootGone   message = "the directory is gone, and is served again when it is back"
	rootBarred message = "the directory cannot be read, and is served again when it can"
	rootBack   message = "the directory is there, and is scanned"

	unheardBegins message = "directories change without an event, which is found within half a minute, and sooner by polling"
	unheardEnds   message = "no more directories change without an event"

	mountsChanged message = "something was mounted or unmounted, what is there now is scanned"
	closeFailed   message = "cannot close the event source"
	soFar         message = "watching so far"
)

// byLooking is how long it takes to find a change by looking.
const byLooking = "changes are found within 5 s, after a quiet time within 30 s, in subscribed files within half a second"

// sayOnce is how long a line that has no end keeps its like from being said.
const sayOnce = time.Minute

// voice is what the log hears of the watcher. Any goroutine may use it.
type voice struct {
	log   *slog.Logger
	stats *counts
	read  func() Stats

	mu   sync.Mutex // guards said
	said map[message]time.Time
}

// begins tells of a condition that the user may want to do something about. err is why, and may be nil.
func (v *voice) begins(m message, err error, args ...any) {
	v.suffers(m, err)
	if err != nil {
		args = append([]any{"err", err}, args...)
	}
	v.log.Warn(string(m), args...)
	v.tellStats()
}

// suffers is begins for what another watcher has told of.
func (v *voice) suffers(m message, err error) {
	why := string(m)
	if err != nil {
		why += ": " + err.Error()
	}
	v.stats.fail(why)
}

// ends tells that a condition is over.
func (v *voice) ends(m message, args ...any) {
	v.log.Info(string(m), args...)
	v.tellStats()
}

// once is begins for what has no end.
func (v *voice) once(m message, args ...any) {
	v.mu.Lock()
	now := time.Now()
	last, said := v.said[m]
	said = said && now.Sub(last) < sayOnce
	if !said {
		if v.said == nil {
			v.said = map[message]time.Time{}
		}
		v.said[m] = now
	}
	v.mu.Unlock()
	if !said {
		v.begins(m, nil, args...)
	}
}

func (v *voice) tellStats() { v.log.Debug(string(soFar), "stats", v.read()) }
