package drain

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/gatewright/gatewright/internal/version"
)

// Program is the name of the command that proxies run.
const Program = "gatewright-drain"

var errUsage = errors.New("usage: " + Program + " drain --admin SOCKET --pressure FILE [flags], or " + Program + " version")

// Command is the command line of [Program].
func Command(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	switch {
	case len(arguments) > 0 && arguments[0] == "drain":
		return drain(ctx, arguments[1:], stderr)
	case len(arguments) == 1 && arguments[0] == "version":
		_, err := io.WriteString(stdout, version.Current().Text())
		return err
	default:
		return errUsage
	}
}

// drain is a subcommand so that a hook works with images in which the controller itself drains.
func drain(ctx context.Context, arguments []string, stderr io.Writer) error {
	var socket, pressure, logFile string
	var plan Plan
	flags := flag.NewFlagSet(Program+" drain", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&socket, "admin", "", "socket of Envoy's administration")
	flags.StringVar(&pressure, "pressure", "", "file from which Envoy reads that all connections should go")
	flags.StringVar(&logFile, "log-file", "", "file to log to (default: standard error)")
	flags.DurationVar(
		&plan.Quiet, "quiet", 5*time.Second, "for how long no connection may come before the proxy is taken to be out of service",
	)
	flags.DurationVar(&plan.Spread, "spread", time.Minute, "Envoy's --drain-time-s")
	flags.DurationVar(&plan.Timeout, "timeout", 90*time.Second, "when to return whatever is still open")
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 || socket == "" || pressure == "" {
		return errUsage
	}
	log := slog.New(slog.NewTextHandler(logTo(logFile, stderr), nil))
	err := Run(ctx, NewAdmin(socket, pressure), plan, log)
	// A container may be started again in the same pod, and then begins anew.
	return errors.Join(err, WritePressure(pressure, false))
}

// logTo opens a log. If that is not possible it returns the other one: it is never a reason not to drain.
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
