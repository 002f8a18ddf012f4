package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRaiseInotifyInstances(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{"128\n": "8192", "8191\n": "8192", "8192\n": "8192\n", "65536\n": "65536\n", "odd": "odd"} {
		file := filepath.Join(t.TempDir(), "max_user_instances")
		if err := writeFile(file, before); err != nil {
			t.Fatal(err)
		}
		raiseInotifyInstances(file)
		if content, err := os.ReadFile(file); err != nil || string(content) != after {
			t.Errorf("%q became %q, not %q: %v", before, content, after, err)
		}
	}
	raiseInotifyInstances(filepath.Join(t.TempDir(), "missing"))
}
