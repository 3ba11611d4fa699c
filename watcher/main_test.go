package watcher

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modelBase is where trees in memory are, none of the operating system's.
var modelBase = func() string {
	base, err := filepath.Abs(filepath.FromSlash("/base"))
	if err != nil {
		panic(err)
	}
	return base
}()
