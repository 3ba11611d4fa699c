package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNoMethodIsCalledByItsName: a single such call, as templates make them, has the linker keep the methods of all types. They
// would be a sixth of the program, and a megabyte of memory when it starts.
func TestNoMethodIsCalledByItsName(t *testing.T) {
	build := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", os.DevNull, ".")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	whole := string(out)
	if !strings.Contains(whole, "main.main -> ") {
		t.Fatalf("the linker has not told who calls whom: %.500s", whole)
	}
	said := map[string]bool{}
	for line := range strings.Lines(whole) {
		if caller, _, found := strings.Cut(line, " <ReflectMethod>"); found && !strings.Contains(caller, " -> ") && !said[caller] {
			said[caller] = true
			t.Errorf("%s calls methods by their names", caller)
		}
	}
}
