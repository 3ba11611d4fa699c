//go:build !linux

package transport

// lookout sees nothing here: each connection has a goroutine that does.
type lookout struct{}

type sight struct{}

func (*lookout) see(*socket) bool { return false }

func (*lookout) lose(*socket) bool { return false }
