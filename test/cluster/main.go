package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && errors.Is(err, errPassedThrough) {
		os.Exit(exit.ExitCode())
	}
	if interrupted {
		fmt.Fprintln(os.Stderr, "interrupted; run the same command again to go on from here")
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real single-node Kubernetes for developing and testing Gatewright",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		upCommand(),
		downCommand(),
		imagesCommand(),
		envoyCommand(),
		binariesCommand(),
		installCommand(),
		kubeconfigCommand(),
		execCommand(),
		shellCommand(),
		connectCommand(),
		loadBalancerCommand(),
	)
	return root
}

// withCluster adapts a step that needs the layout and the exclusive lock to cobra.
func withCluster(use, short string, run func(context.Context, layout) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return locked(cmd.Context(), run)
		},
	}
}

// locked finds the directories and runs f while no other command changes the cluster of this name.
func locked(ctx context.Context, f func(context.Context, layout) error) error {
	l, err := findLayout()
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("the cluster needs root for namespaces and mounts: run it with sudo -E")
	}
	return clusterLock(clusterName).hold(ctx, func() error {
		// The state may have changed while another command had the lock.
		l.family = l.readFamily()
		if err := checkRecord(runDir, l.state); err != nil {
			return err
		}
		return f(ctx, l)
	})
}
