package client

import "testing"

func TestNameAndVersionHaveDefaultsOfTheirOwn(t *testing.T) {
	for _, c := range []struct{ name, version, wantName, wantVersion string }{
		{"", "", "mcp-fsserve-client", "0"},
		{"mine", "", "mine", "0"},
		{"", "7", "mcp-fsserve-client", "7"},
		{"mine", "7", "mine", "7"},
	} {
		opts := &Options{Name: c.name, Version: c.version}
		if got := opts.withDefaults(false); got.Name != c.wantName || got.Version != c.wantVersion {
			t.Errorf("%q %q becomes %q %q", c.name, c.version, got.Name, got.Version)
		}
	}
}
