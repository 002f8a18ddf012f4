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

// recordFile is in a cluster's directory below /run, and holds the path of its state, which may be anywhere.
const recordFile = "cluster-state"

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
	found := clusters("/run", filepath.Dir(filepath.Dir(l.state)))
	// Of the cluster of this name there may be parts without a record.
	found[clusterName] = firstOf(found[clusterName], l.state)
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
	defaults, _ := filepath.Glob(filepath.Join(states, "*", "cluster", "family"))
	for _, path := range defaults {
		state := filepath.Dir(path)
		found[filepath.Base(filepath.Dir(state))] = state
	}
	records, _ := filepath.Glob(filepath.Join(run, "*", recordFile))
	for _, path := range records {
		if state, err := os.ReadFile(path); err == nil {
			found[filepath.Base(filepath.Dir(path))] = strings.TrimSpace(string(state))
		}
	}
	maps.DeleteFunc(found, func(name, state string) bool {
		return checkClusterName(name) != nil || !filepath.IsAbs(state) || filepath.Base(state) != "cluster"
	})
	return found
}
