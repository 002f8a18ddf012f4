package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// errPassedThrough marks the failure of a command that the user asked for, whose exit status is ours.
var errPassedThrough = errors.New("command failed")

// invocation is a command to run to its end.
type invocation struct {
	dir  string
	env  []string // added to our own
	argv []string
}

// run returns what the command wrote to standard output; an error carries the end of standard error.
func (i invocation) run(ctx context.Context) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, i.argv[0], i.argv[1:]...)
	cmd.Dir = i.dir
	cmd.Env = append(os.Environ(), i.env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(i.argv, " "), err, lastLines(stderr.String()+stdout.String(), 20))
	}
	return stdout.String(), nil
}

// run runs a command in the current directory.
func run(ctx context.Context, argv ...string) (string, error) {
	return invocation{argv: argv}.run(ctx)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
