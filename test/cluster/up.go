package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// binaries is where the parts of the cluster were built.
type binaries struct {
	kubernetes, etcd, coreDNS string
}

func upCommand() *cobra.Command {
	var wanted string
	cmd := withCluster("up", "Build what is missing and start the cluster", func(ctx context.Context, l layout) error {
		start := time.Now()
		if reason := leftOver(l, runDir, namespacePath); reason != "" {
			fmt.Printf("          stop what is left of a cluster first: %s\n", reason)
			if err := down(ctx, l); err != nil {
				return fmt.Errorf("%w\nrun up or down again to go on from here", err)
			}
			l.family = l.readFamily()
		}
		l, err := l.withFamily(wanted)
		if err != nil {
			return err
		}
		if err := up(ctx, l); err != nil {
			return fmt.Errorf("%w\nrun up again to go on from here, or down to start over", err)
		}
		fmt.Printf("\nThe cluster is up after %s. Next:\n"+
			"  make install                 install Gatewright into it\n"+
			"  make shell                   a shell in its network, with kubectl and helm\n"+
			"  make cluster-down            stop it and leave nothing behind\n", elapsed(start))
		return nil
	})
	cmd.Flags().StringVar(&wanted, "family", string(ipv4), "IP families of nodes, pods and Services: ipv4, ipv6 or dual")
	return cmd
}

func up(ctx context.Context, l layout) error {
	if err := step(ctx, "Debian packages", installPackages); err != nil {
		return err
	}
	b, err := buildBinaries(ctx, l)
	if err != nil {
		return err
	}
	if err := step(ctx, "network namespace, cgroups, certificates", func(ctx context.Context) error {
		return prepare(ctx, l)
	}); err != nil {
		return err
	}
	if err := step(ctx, "stop daemons without a record", func(ctx context.Context) error {
		return stopAll(ctx, unrecorded(l, clusterName), stopGrace)
	}); err != nil {
		return err
	}
	return start(ctx, l, b)
}

func buildBinaries(ctx context.Context, l layout) (binaries, error) {
	if err := requireGo(); err != nil {
		return binaries{}, err
	}
	var b binaries
	var err error
	if b.kubernetes, err = kube.build(ctx, l); err != nil {
		return binaries{}, err
	}
	if b.etcd, err = etcd.build(ctx, l); err != nil {
		return binaries{}, err
	}
	if b.coreDNS, err = coreDNS.build(ctx, l); err != nil {
		return binaries{}, err
	}
	_, err = fetchEnvoy(ctx, l)
	return b, err
}

func prepare(ctx context.Context, l layout) error {
	raiseInotifyInstances(inotifyInstances)
	if err := os.MkdirAll(l.state, 0o755); err != nil {
		return fmt.Errorf("create the state directory: %w", err)
	}
	if err := os.MkdirAll(runDir, 0o711); err != nil {
		return fmt.Errorf("create %s: %w", runDir, err)
	}
	if err := writeFile(filepath.Join(runDir, recordFile), l.state); err != nil {
		return err
	}
	if err := writeFile(l.path("family"), string(l.family)); err != nil {
		return err
	}
	if err := createNamespace(ctx, l.family); err != nil {
		return err
	}
	if err := createCgroups(); err != nil {
		return err
	}
	if err := createCertificates(l); err != nil {
		return err
	}
	if err := writeKubeconfigs(l); err != nil {
		return err
	}
	return writeNodeConfigs(l)
}

func start(ctx context.Context, l layout, b binaries) error {
	dns, err := coreDNSDaemon(l, b)
	if err != nil {
		return err
	}
	balancer, err := loadBalancerDaemon(l)
	if err != nil {
		return err
	}
	for _, d := range append(controlPlane(l, b), containerd(l)) {
		if err := d.run(ctx, l); err != nil {
			return err
		}
	}
	if err := loadBaseImages(ctx, l); err != nil {
		return err
	}
	for _, d := range []daemon{kubelet(l, b), kubeProxy(l, b), dns, balancer} {
		if err := d.run(ctx, l); err != nil {
			return err
		}
	}
	if err := step(ctx, "cluster DNS answers", func(ctx context.Context) error {
		if err := applyDNSService(ctx, l); err != nil {
			return err
		}
		return eventually(ctx, time.Minute, dnsAnswers(l.family.dns()))
	}); err != nil {
		return err
	}
	return step(ctx, "node is ready", func(ctx context.Context) error {
		return eventually(ctx, 2*time.Minute, nodeReady(l))
	})
}

// run is ensure, shown as a step.
func (d daemon) run(ctx context.Context, l layout) error {
	return step(ctx, d.name, func(ctx context.Context) error { return d.ensure(ctx, l) })
}

// requireRunning explains what a command needs that works on a running cluster.
func requireRunning(l layout) error {
	if p, found := readProcess(l.path("processes", "containerd.json")); found && p.running() {
		return nil
	}
	return fmt.Errorf("there is no running cluster in %s: run up first", l.state)
}
