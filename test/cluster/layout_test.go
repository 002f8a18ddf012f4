package main

import (
	"strings"
	"testing"
)

func TestCheckClusterName(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"gatewright": true, "gatewright-v6": true, "a": true, strings.Repeat("a", 31): true,
		"": false, ".": false, "..": false, "netns": false, "a/b": false, "../x": false, "A": false, "-a": false,
		strings.Repeat("a", 32): false, "a\n": false,
	} {
		if err := checkClusterName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
