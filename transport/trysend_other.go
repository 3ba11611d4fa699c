//go:build !unix

package transport

// trySend writes nothing: here nobody can be asked to take what he takes at once.
func trySend(uintptr, []byte) (n int, err error) { return 0, nil }
