//go:build unix && !linux

package resources

import (
	"os"
	"testing"
)

// dropRights: the tests do not run as root here.
func dropRights(t testing.TB) (restore func()) {
	if os.Geteuid() == 0 {
		t.Fatal("run the tests as a plain user")
	}
	return func() {}
}
