package transport

// baton is a lock that is had in the order of asking. It has a buffer of 1, holds a token while somebody has the lock, and
// is never closed. Unlike that of a sync.Mutex, its owner may wait for long.
type baton chan struct{}

func (b baton) Lock() { b <- struct{}{} }

// TryLock takes the lock if nobody has it, and reports whether it did.
func (b baton) TryLock() bool {
	select {
	case b <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock may be called by another goroutine than Lock.
func (b baton) Unlock() { <-b }
