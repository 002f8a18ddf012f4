package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func downCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove everything but the cache",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return downAll(cmd.Context())
			}
			return locked(cmd.Context(), downOne)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop the clusters of every name, as recorded on this machine")
	return cmd
}

func downOne(ctx context.Context, l layout) error {
	start := time.Now()
	if err := down(ctx, l); err != nil {
		return fmt.Errorf("%w\nrun down again to go on from here", err)
	}
	fmt.Printf("The cluster is gone after %s; its binaries stay in %s\n", elapsed(start), l.cache)
	return nil
}

// down goes on from wherever an earlier up or down was interrupted: what is not there is not missed.
func down(ctx context.Context, l layout) error {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		// The kubelet ends first, so that nothing starts pods again.
		{"stop the kubelet", func(ctx context.Context) error { return stopDaemons(ctx, l, "kubelet") }},
		{"stop the pods", func(ctx context.Context) error { return stopPods(ctx, l) }},
		{"stop the daemons", func(ctx context.Context) error { return stopDaemons(ctx, l, recordedDaemons(l)...) }},
		{"unmount", func(context.Context) error { return unmountBelow(l.state, runDir) }},
		{"remove the network namespace", deleteNamespace},
		{"remove the cgroups", deleteCgroups},
		{"remove the files", func(context.Context) error { return removeFiles(l) }},
	}
	for _, s := range steps {
		if err := step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	return nil
}

// stopPods ends containerd, every container and every shim: without containerd no one restarts them.
func stopPods(ctx context.Context, l layout) error {
	if err := stopDaemons(ctx, l, "containerd"); err != nil {
		return err
	}
	if err := killCgroups(ctx); err != nil {
		return err
	}
	for _, shim := range shims() {
		if err := shim.stop(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// shims finds containerd's shims by the address of our containerd among their arguments.
func shims() []process {
	var found []process
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(cmdline, []byte("containerd-shim")) {
			continue
		}
		argv := strings.Split(string(cmdline), "\x00")
		if !slices.Contains(argv, containerdSocket()) {
			continue
		}
		if started, err := startTime(pid); err == nil {
			found = append(found, process{PID: pid, Started: started, Argv: argv})
		}
	}
	return found
}

func removeFiles(l layout) error {
	failed := errors.Join(removeShimSockets(), removeLogLinks(l))
	// The kubelet's place for device plugins cannot be configured; the directory is ours if empty.
	for _, name := range []string{"kubelet_internal_checkpoint", "kubelet.sock", "DEPRECATION"} {
		failed = errors.Join(failed, ignoreMissing(os.Remove("/var/lib/kubelet/device-plugins/"+name)))
	}
	failed = errors.Join(failed, os.RemoveAll(l.state), os.RemoveAll(runDir))
	for _, dir := range []string{
		"/var/lib/kubelet/device-plugins", "/var/lib/kubelet", "/var/log/containers", "/var/lib/cni/results", "/var/lib/cni",
		"/run/containerd/s", "/run/containerd", filepath.Dir(l.state),
	} {
		_ = os.Remove(dir) // refused unless empty
	}
	return failed
}

// removeShimSockets removes what killed shims and interrupted network set-ups leave outside our
// directories, found by the ids of our containers.
func removeShimSockets() error {
	var failed error
	bundles, _ := filepath.Glob(filepath.Join(runDir, "containerd", "io.containerd.runtime.v2.task", "k8s.io", "*"))
	for _, bundle := range bundles {
		if address, err := os.ReadFile(filepath.Join(bundle, "address")); err == nil {
			socket := strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://")
			failed = errors.Join(failed, ignoreMissing(os.Remove(socket)))
		}
		results, _ := filepath.Glob("/var/lib/cni/results/*" + filepath.Base(bundle) + "*")
		for _, result := range results {
			failed = errors.Join(failed, ignoreMissing(os.Remove(result)))
		}
	}
	return failed
}

// removeLogLinks removes the links in the place that the kubelet does not let one choose.
func removeLogLinks(l layout) error {
	var failed error
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, l.state+"/") {
			failed = errors.Join(failed, ignoreMissing(os.Remove(link)))
		}
	}
	return failed
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
