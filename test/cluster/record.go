package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// recordFile is in a cluster's directory below /run, and holds the path of its state, which may be anywhere.
const recordFile = "cluster-state"

// readRecord returns the directory of a cluster's state, or nothing if it has no record.
func readRecord(run string) string {
	content, err := os.ReadFile(filepath.Join(run, recordFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// checkRecord returns an error when the cluster of this name has its state elsewhere: a command would miss its daemons and break it.
func checkRecord(run, state string) error {
	recorded := readRecord(run)
	if recorded == "" || recorded == state || !exists(recorded) {
		return nil
	}
	return fmt.Errorf("cluster %s has its state in %s, not in %s: set GATEWRIGHT_STATE=%s, or choose another GATEWRIGHT_CLUSTER",
		filepath.Base(run), recorded, state, filepath.Dir(recorded))
}

// leftOver returns why up cannot go on with what there is of the cluster, or nothing if it can. What an interrupted up leaves is complete
// as far as it got. What is left of a cluster that was stopped, or that lost its network, is not.
func leftOver(l layout, run, namespace string) string {
	switch {
	case exists(l.stoppingFile()):
		return "an earlier down was interrupted"
	case exists(l.path("family")) && readRecord(run) != l.state:
		return "there is state in " + l.state + " without a record in " + run + ", as after a restart of the machine"
	}
	for _, name := range recordedDaemons(l) {
		p, found := readProcess(l.path("processes", name+".json"))
		if found && p.running() && !p.isIn(namespace) {
			return name + " runs outside the network namespace " + namespace
		}
	}
	return ""
}

// isIn returns whether the process is in a network namespace, which is not so if the namespace was deleted, or deleted and made anew.
func (p process) isIn(namespace string) bool {
	actual, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", p.PID))
	if err != nil {
		return false
	}
	expected, err := os.Stat(namespace)
	return err == nil && os.SameFile(actual, expected)
}

// nsfs is the type of the file system that namespaces are files of.
const nsfs = 0x6e736673

// isNamespace returns whether there is a namespace at the path, and not a file that was to become one.
func isNamespace(path string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(path, &s) == nil && s.Type == nsfs
}
