package main

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

func TestClustersAreFoundByWhatTheyWrote(t *testing.T) {
	t.Parallel()
	run, states := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(states, "gatewright", "cluster", "family"): "ipv4",
		filepath.Join(states, "left-over", "cluster", "family"):  "dual",
		filepath.Join(states, "others", "data"):                  "not ours",
		filepath.Join(states, "stopping", "cluster.stopping"):    "",
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
		"stopping":   filepath.Join(states, "stopping", "cluster"),
		"elsewhere":  "/srv/state/cluster",
	}
	if actual := clusters(run, states); !maps.Equal(actual, expected) {
		t.Errorf("found %v, not %v", actual, expected)
	}
}

func TestClustersAreFoundByTheirLocksAndDaemons(t *testing.T) {
	t.Parallel()
	locks := t.TempDir()
	for _, name := range []string{clusterLockPrefix + "a", clusterLockPrefix + "b", "packages"} {
		if err := writeFile(filepath.Join(locks, name), ""); err != nil {
			t.Fatal(err)
		}
	}
	if names := lockedClusters(locks); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("found %v by locks", names)
	}
	const name = "cluster-of-this-test"
	startDaemon(t, daemonVariable+"="+name)
	if names := runningClusters(); !slices.Contains(names, name) {
		t.Errorf("found %v by daemons", names)
	}
}
