package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
)

func execCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "exec -- COMMAND [ARGUMENT...]",
		Short: "Run a command inside the cluster's network, with KUBECONFIG, kubectl and helm",
		Args:  cobra.MinimumNArgs(1),
		RunE:  enter,
	}
}

func shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell",
		Short: "Open a shell inside the cluster's network, with KUBECONFIG, kubectl and helm",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return enter(cmd, []string{firstOf(os.Getenv("SHELL"), "/bin/sh")})
		},
	}
}

// enter becomes the parent of a command in the cluster's network namespace and shares its fate.
func enter(cobraCommand *cobra.Command, argv []string) error {
	ctx := cobraCommand.Context()
	l, err := findLayout()
	if err != nil {
		return err
	}
	if err := requireRunning(l); err != nil {
		return err
	}
	path := []string{}
	for _, s := range []source{kube, helm} {
		dir, err := s.dir(ctx, l)
		if err != nil {
			return err
		}
		path = append(path, dir)
	}
	env := append(os.Environ(),
		"KUBECONFIG="+l.adminKubeconfig(),
		"PATH="+strings.Join(append(path, os.Getenv("PATH")), string(os.PathListSeparator)))
	// The command is looked up with the new PATH, by env, inside the namespace.
	inside := insideNamespace(append([]string{"env"}, argv...)...)
	cmd := exec.CommandContext(ctx, inside[0], inside[1:]...) //nolint:gosec // running the user's command is its purpose
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return errors.Join(errPassedThrough, err)
	}
	if err != nil {
		return fmt.Errorf("run %s in the cluster's network: %w", strings.Join(argv, " "), err)
	}
	return nil
}
