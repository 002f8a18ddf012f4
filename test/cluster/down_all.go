package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// downAll stops every cluster of this machine, each by a process of its own, because a process knows one cluster.
func downAll(ctx context.Context) error {
	l, err := findLayout()
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	states := filepath.Dir(filepath.Dir(l.state))
	found := clusters("/run", states)
	// Of these there may be parts without a record: of the cluster of this name, of those that were not stopped to the end, and of those with
	// running daemons.
	for _, name := range slices.Concat([]string{clusterName}, lockedClusters(machineLocks), runningClusters()) {
		switch {
		case checkClusterName(name) != nil || found[name] != "":
		case name == clusterName:
			found[name] = l.state
		default:
			found[name] = filepath.Join(states, name, "cluster")
		}
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Printf("stop cluster %s\n", name)
		cmd := exec.CommandContext(ctx, executable, "down")
		cmd.Env = append(os.Environ(), "GATEWRIGHT_CLUSTER="+name, "GATEWRIGHT_STATE="+filepath.Dir(found[name]))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("stop cluster %s: %w", name, err))
		}
	}
	return failed
}

// clusters finds the clusters of a machine by what they wrote: their record below run, or their state below the directory where states are
// by default. It returns the directory of each one's state by name. An interrupted down leaves at least one of the two.
func clusters(run, states string) map[string]string {
	found := map[string]string{}
	for _, pattern := range []string{filepath.Join("cluster", "family"), "cluster" + stoppingSuffix} {
		defaults, _ := filepath.Glob(filepath.Join(states, "*", pattern))
		for _, path := range defaults {
			name, _, _ := strings.Cut(strings.TrimPrefix(path, states+"/"), "/")
			found[name] = filepath.Join(states, name, "cluster")
		}
	}
	records, _ := filepath.Glob(filepath.Join(run, "*", recordFile))
	for _, path := range records {
		dir := filepath.Dir(path)
		found[filepath.Base(dir)] = readRecord(dir)
	}
	maps.DeleteFunc(found, func(name, state string) bool {
		return checkClusterName(name) != nil || !filepath.IsAbs(state) || filepath.Base(state) != "cluster"
	})
	return found
}

// lockedClusters lists the names whose locks are there, because only a complete down removes them.
func lockedClusters(locks string) []string {
	paths, _ := filepath.Glob(filepath.Join(locks, clusterLockPrefix+"*"))
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, strings.TrimPrefix(filepath.Base(path), clusterLockPrefix))
	}
	return names
}

// runningClusters lists the names of those with a daemon.
func runningClusters() []string {
	var names []string
	processes(func(pid int) bool {
		if name := daemonOf(pid); name != "" {
			names = append(names, name)
		}
		return false
	})
	return names
}
