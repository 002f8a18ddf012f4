package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroupName is the parent of all pods' cgroups, so that they can be found and removed together.
var cgroupName = clusterName

// cgroupRoots lists our directory in every mounted hierarchy: one for cgroup v2, many for v1.
func cgroupRoots() ([]string, error) {
	mounts, err := mountPoints()
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, m := range mounts {
		if m.filesystem == "cgroup" || m.filesystem == "cgroup2" {
			roots = append(roots, filepath.Join(m.path, cgroupName))
		}
	}
	return roots, nil
}

func createCgroups() error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := os.MkdirAll(root, 0o755); err != nil {
			return fmt.Errorf("create cgroup %s: %w", root, err)
		}
		// A v1 cpuset starts without processors and memory, and takes no process then.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			parent, err := os.ReadFile(filepath.Join(filepath.Dir(root), file))
			if err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(root, file), parent, 0o600); err != nil {
				return fmt.Errorf("prepare cgroup %s: %w", root, err)
			}
		}
		if err := weighPods(root); err != nil {
			return err
		}
	}
	return nil
}

// weighPods gives all pods together the processor time of several processes, while both processors are busy. With the weight of one,
// which is the default, pods starve beside a compiler: proxies then answer nothing for seconds, which tells nothing about them.
func weighPods(root string) error {
	for file, weight := range map[string]string{"cpu.shares": "4096", "cpu.weight": "400"} {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(weight), 0o600); err != nil {
			return fmt.Errorf("weigh cgroup %s: %w", root, err)
		}
	}
	return nil
}

// killCgroups ends every process of every pod, whether or not containerd still knows it.
func killCgroups(ctx context.Context) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	return eventually(ctx, 20*time.Second, func(context.Context) error {
		var left []int
		for _, root := range roots {
			left = append(left, cgroupProcesses(root)...)
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) > 0 {
			return fmt.Errorf("processes %v are still in cgroup %s", left, cgroupName)
		}
		return nil
	})
}

func cgroupProcesses(root string) []int {
	var pids []int
	for _, dir := range directories(root) {
		content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func deleteCgroups(ctx context.Context) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	return eventually(ctx, 10*time.Second, func(context.Context) error {
		var failed error
		for _, root := range roots {
			dirs := directories(root)
			slices.Reverse(dirs)
			for _, dir := range dirs {
				if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
					failed = fmt.Errorf("remove cgroup: %w", err)
				}
			}
		}
		return failed
	})
}

// directories lists root and everything below it, parents first.
func directories(root string) []string {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs
}
