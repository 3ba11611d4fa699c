package resources

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// dropRights takes the calling thread's rights over files, if it has any beyond those of a plain user.
func dropRights(t testing.TB) (restore func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Fatal(err)
		}
		runtime.UnlockOSThread()
	}
}
