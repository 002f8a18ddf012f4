package main

import (
	"maps"
	"path/filepath"
	"testing"
)

func TestClustersAreFoundByWhatTheyWrote(t *testing.T) {
	t.Parallel()
	run, states := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(states, "gatewright", "cluster", "family"): "ipv4",
		filepath.Join(states, "left-over", "cluster", "family"):  "dual",
		filepath.Join(states, "others", "data"):                  "not ours",
		filepath.Join(run, "gatewright", recordFile):             filepath.Join(states, "gatewright", "cluster") + "\n",
		filepath.Join(run, "elsewhere", recordFile):              "/srv/state/cluster",
		filepath.Join(run, "relative", recordFile):               "state/cluster",
		filepath.Join(run, "Unsafe..Name", recordFile):           "/srv/other/cluster",
		filepath.Join(run, "not-a-state", recordFile):            "/srv",
	} {
		if err := writeFile(path, content); err != nil {
			t.Fatal(err)
		}
	}
	expected := map[string]string{
		"gatewright": filepath.Join(states, "gatewright", "cluster"),
		"left-over":  filepath.Join(states, "left-over", "cluster"),
		"elsewhere":  "/srv/state/cluster",
	}
	if actual := clusters(run, states); !maps.Equal(actual, expected) {
		t.Errorf("found %v, not %v", actual, expected)
	}
}
