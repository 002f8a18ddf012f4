package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatewright/gatewright/internal/drain"
)

// drainCommand is what a proxy's container runs before Envoy is told to stop.
func drainCommand() *cobra.Command {
	var socket, pressure, logFile string
	var plan drain.Plan
	command := &cobra.Command{
		Use:   "drain",
		Short: "Let the Envoy behind an administration socket finish, and return when it has",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(logTo(logFile, c.ErrOrStderr()), nil))
			err := drain.Run(c.Context(), drain.NewAdmin(socket, pressure), plan, log)
			// A container may be started again in the same pod, and then begins anew.
			return errors.Join(err, drain.WritePressure(pressure, false))
		},
	}
	flags := command.Flags()
	flags.StringVar(&socket, "admin", "/run/envoy/admin.sock", "socket of Envoy's administration")
	flags.StringVar(&pressure, "pressure", "/run/envoy/drain-pressure", "file from which Envoy reads that all connections should go")
	flags.StringVar(&logFile, "log-file", "", "file to log to (default: standard error)")
	flags.DurationVar(&plan.Quiet, "quiet", 5*time.Second, "for how long no connection may come before the proxy is taken to be out of service")
	flags.DurationVar(&plan.Spread, "spread", time.Minute, "Envoy's --drain-time-s")
	flags.DurationVar(&plan.Timeout, "timeout", 90*time.Second, "when to return whatever is still open")
	return command
}

// logTo opens a log, and has another one if that is not possible: it is never a reason not to drain.
func logTo(path string, otherwise io.Writer) io.Writer {
	if path == "" {
		return otherwise
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) //nolint:gosec // the operator says where
	if err != nil {
		return otherwise
	}
	return file
}

// installCommand brings the program to a proxy, whose image has only Envoy.
func installCommand() *cobra.Command {
	var pressure string
	command := &cobra.Command{
		Use:   "install PATH",
		Short: "Copy this program to a path, and write the file that Envoy reads at its start",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := drain.Install(args[0]); err != nil {
				return fmt.Errorf("install: %w", err)
			}
			return drain.WritePressure(pressure, false)
		},
	}
	command.Flags().StringVar(&pressure, "pressure", "/run/envoy/drain-pressure", "file from which Envoy reads that all connections should go")
	return command
}
