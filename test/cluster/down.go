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

// stoppingFile is beside the state while down works. An up that finds it completes the down first, instead of going on with what is left.
func (l layout) stoppingFile() string { return l.state + stoppingSuffix }

const stoppingSuffix = ".stopping"

func downOne(ctx context.Context, l layout) error {
	start := time.Now()
	if err := down(ctx, l); err != nil {
		return fmt.Errorf("%w\nrun down again to go on from here", err)
	}
	if err := clusterLock(clusterName).remove(); err != nil {
		return fmt.Errorf("remove the lock: %w", err)
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
		{"stop daemons without a record", func(ctx context.Context) error { return stopAll(ctx, unrecorded(l, clusterName), stopGrace) }},
		{"stop the pods", func(ctx context.Context) error { return stopPods(ctx, l) }},
		{"stop the daemons", func(ctx context.Context) error { return stopDaemons(ctx, l, recordedDaemons(l)...) }},
		{"unmount", func(context.Context) error { return unmountBelow(l.state, runDir) }},
		{"remove the network namespace", deleteNamespace},
		{"remove the cgroups", deleteCgroups},
		{"remove the files", func(context.Context) error { return removeFiles(l) }},
	}
	if err := writeFile(l.stoppingFile(), ""); err != nil {
		return err
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
	return stopAll(ctx, shims(), 0)
}

// shims finds containerd's shims by the address of our containerd among their arguments.
func shims() []process {
	return processes(func(pid int) bool {
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && bytes.Contains(cmdline, []byte("containerd-shim")) &&
			slices.Contains(strings.Split(string(cmdline), "\x00"), containerdSocket())
	})
}

func removeFiles(l layout) error {
	failed := errors.Join(removeShimSockets(), removeLogLinks(l))
	// The kubelet's place for device plugins cannot be configured; the directory is ours if empty.
	for _, name := range []string{"kubelet_internal_checkpoint", "kubelet.sock", "DEPRECATION"} {
		failed = errors.Join(failed, ignoreMissing(os.Remove("/var/lib/kubelet/device-plugins/"+name)))
	}
	failed = errors.Join(failed, os.RemoveAll(l.state), os.RemoveAll(runDir))
	if failed != nil {
		return failed
	}
	// What says that there is something to remove goes last.
	failed = ignoreMissing(os.Remove(l.stoppingFile()))
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
