package main

import (
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
)

// TestPackagesMakeLittleWhenTheyAreInitialised: what few invocations need is made for the first that does. Tables of types
// and expressions that are compiled would be 30 KiB for each of two packages.
func TestPackagesMakeLittleWhenTheyAreInitialised(t *testing.T) {
	const (
		here = "github.com/mcp-fsserve/mcp-fsserve/cmd/mcp-fsserve"
		most = 8 << 10 // bytes
	)
	program := exec.Command("mcp-fsserve", "--version")
	program.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	traced := regexp.MustCompile(`(?m)^init (github\.com/mcp-fsserve/mcp-fsserve/\S+) .* (\d+) bytes, \d+ allocs$`).FindAllSubmatch(out, -1)
	if len(traced) == 0 {
		t.Fatalf("no initialisation was traced: %s", out)
	}
	for _, one := range traced {
		if string(one[1]) == here {
			continue // has the variables of its tests, too
		}
		if made, err := strconv.Atoi(string(one[2])); err != nil || made > most {
			t.Errorf("%s makes %s bytes when it is initialised, more than %d", one[1], one[2], most)
		}
	}
}

// TestAServerMakesLittleOfItsFlags: it is not asked which values they can have.
func TestAServerMakesLittleOfItsFlags(t *testing.T) {
	const most = 60_000 // bytes
	made := uint64(math.MaxUint64)
	for range 5 { // something else may take memory meanwhile, so the least of these counts
		p := &program{args: []string{"notes"}, stdout: &standardOutput{w: io.Discard}, stderr: deaf{io.Discard}, settings: defaults()}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.command()
		runtime.ReadMemStats(&after)
		made = min(made, after.TotalAlloc-before.TotalAlloc)
	}
	if made > most {
		t.Errorf("the commands and their flags take %d bytes, more than %d", made, most)
	}
}
