package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pacer waits until the next request is due, and says when that was; or that there are no more.
type pacer func() (due time.Time, more bool)

// atOnce has whoever has an answer ask again, until over is closed.
func atOnce(over <-chan struct{}) pacer {
	return func() (due time.Time, more bool) {
		select {
		case <-over:
			return due, false
		default:
			return time.Now(), true
		}
	}
}

// oneAfterTheOther has whoever is free ask when the next beat comes, or at once if it has come already.
func oneAfterTheOther(beats <-chan time.Time) pacer {
	return func() (due time.Time, more bool) {
		due, more = <-beats
		return due, more
	}
}

// beat says when each of so many requests a second is due, until over is closed, and then closes beats. It waits until somebody is
// free to take one, but says then when it was due: so a server that is slow does not make what it is asked less.
//
// The kernel's timer keeps the time: those of the runtime come up to a millisecond late where nothing else is to do, because it
// then waits for connections, and in whole milliseconds.
func beat(rate int, beats chan<- time.Time, over <-chan struct{}) error {
	defer close(beats)
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("a timer: %w", err)
	}
	timer := os.NewFile(uintptr(fd), "timer")
	defer timer.Close()
	every := time.Second / time.Duration(rate)
	next := time.Now().Add(every)
	each := unix.NsecToTimespec(every.Nanoseconds())
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: each, Value: each}, nil); err != nil {
		return fmt.Errorf("a timer: %w", err)
	}
	for {
		var past [8]byte // beats since the last read
		if _, err := timer.Read(past[:]); err != nil {
			return fmt.Errorf("a timer: %w", err)
		}
		for range binary.NativeEndian.Uint64(past[:]) {
			select {
			case beats <- next:
			case <-over:
				return nil
			}
			next = next.Add(every)
		}
	}
}
