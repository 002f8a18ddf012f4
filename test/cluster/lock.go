package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// machineLocks is where the locks are that concern the machine: one for each cluster's name, because a name stands for a network namespace
// and cgroups, and one for Debian's packages. Those of the cache are in the cache.
const machineLocks = "/run/lock/gatewright"

// clusterLockPrefix begins the names of the locks of clusters. Such a lock is there as long as anything of its cluster may be.
const clusterLockPrefix = "cluster-"

// lockTimeout is longer than any command takes, even one that builds Kubernetes on a busy machine.
const lockTimeout = 45 * time.Minute

// lockfile lets one process at a time do something. The kernel releases it when the process ends, in whichever way.
type lockfile struct {
	path string
	what string // that no other process may use meanwhile
	// After timeout, acquire gives up. It prints who has the lock soon, and again after each interval.
	timeout, interval time.Duration
}

func clusterLock(name string) lockfile {
	return lockfile{filepath.Join(machineLocks, clusterLockPrefix+name), "cluster " + name, lockTimeout, heartbeat}
}

func packagesLock() lockfile {
	return lockfile{filepath.Join(machineLocks, "packages"), "Debian's packages", lockTimeout, heartbeat}
}

// cacheLock is for one thing that clusters of all names take from the cache.
func (l layout) cacheLock(name string) lockfile {
	return lockfile{filepath.Join(l.cache, "locks", name), name + " in " + l.cache, lockTimeout, heartbeat}
}

// hold runs a function while this process has the lock.
func (f lockfile) hold(ctx context.Context, do func() error) error {
	release, err := f.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// acquire waits for the lock and returns what releases it.
func (f lockfile) acquire(ctx context.Context) (release func(), err error) {
	// Most are released in a moment, which is not worth a line.
	start, next := time.Now(), time.Now().Add(min(time.Second, f.interval))
	for {
		file, err := f.try()
		if err != nil {
			return nil, err
		}
		if file != nil {
			return func() { _ = file.Close() }, nil
		}
		if time.Since(start) > f.timeout {
			return nil, fmt.Errorf("%s is still in use after %s, by %s: end that, or wait for it", f.what, elapsed(start), f.holder())
		}
		if time.Now().After(next) {
			fmt.Printf("%8s  wait for %s, in use by %s\n", elapsed(start), f.what, f.holder())
			next = time.Now().Add(f.interval)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", f.what, ctx.Err())
		case <-time.After(min(200*time.Millisecond, f.interval)):
		}
	}
}

// try returns the locked file, or none when another process has it.
func (f lockfile) try() (*os.File, error) {
	for {
		file, err := f.open()
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, file.Close()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.path, err), file.Close())
		}
		if f.names(file) {
			describeHolder(file)
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("close the lock: %w", err)
		}
	}
}

func (f lockfile) open() (*os.File, error) {
	for {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return nil, fmt.Errorf("create the directory of locks: %w", err)
		}
		file, err := os.OpenFile(f.path, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has just removed the directory
		}
		if err != nil {
			return nil, fmt.Errorf("open the lock: %w", err)
		}
		return file, nil
	}
}

// names returns whether the path is still that of the file. The process that had the lock may have removed it: others then lock a new one.
func (f lockfile) names(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.path)
	return err == nil && os.SameFile(opened, named)
}

// describeHolder writes which process has a lock, for those that wait. A full disk does not keep a command from its work.
func describeHolder(file *os.File) {
	directory, _ := os.Getwd()
	description := fmt.Sprintf("process %d since %s: %s, in %s\n",
		os.Getpid(), time.Now().Format(time.TimeOnly), strings.Join(os.Args, " "), directory)
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(description), 0)
}

func (f lockfile) holder() string {
	content, _ := os.ReadFile(f.path)
	return firstOf(strings.TrimSpace(string(content)), "another command")
}

// remove is for the process that has the lock, when there is nothing left to protect.
func (f lockfile) remove() error {
	err := ignoreMissing(os.Remove(f.path))
	_ = os.Remove(filepath.Dir(f.path)) // refused unless empty
	return err
}
