package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process identifies a process for longer than its id does: ids are used again, but not together
// with the time at which the process started.
type process struct {
	PID     int
	Started string
	Argv    []string
}

// startTime reads when a process started, in clock ticks since boot; a zombie counts as gone.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("look up process %d: %w", pid, err)
	}
	// The second field is the name in parentheses, which may itself hold spaces and parentheses.
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", fmt.Errorf("process %d has ended: %w", pid, fs.ErrNotExist)
	}
	return fields[19], nil
}

func (p process) running() bool {
	started, err := startTime(p.PID)
	return err == nil && started == p.Started
}

// stop asks the process to end, kills it after the grace period, and returns when it is gone.
func (p process) stop(ctx context.Context, grace time.Duration) error {
	for _, attempt := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 10 * time.Second}} {
		if !p.running() {
			return nil
		}
		if err := syscall.Kill(p.PID, attempt.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", p.PID, err)
		}
		err := eventually(ctx, attempt.wait, func(context.Context) error {
			if p.running() {
				return fmt.Errorf("process %d is still there", p.PID)
			}
			return nil
		})
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("process %d (%s) does not end: look into /proc/%d/stack", p.PID, strings.Join(p.Argv, " "), p.PID)
}

// processes finds the running processes that match.
func processes(match func(pid int) bool) []process {
	var found []process
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !match(pid) {
			continue
		}
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if started, err := startTime(pid); err == nil {
			found = append(found, process{PID: pid, Started: started, Argv: strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")})
		}
	}
	return found
}

// stopAll stops processes at the same time.
func stopAll(ctx context.Context, all []process, grace time.Duration) error {
	results := make(chan error, len(all))
	for _, p := range all {
		go func() { results <- p.stop(ctx, grace) }()
	}
	var failed error
	for range all {
		failed = errors.Join(failed, <-results)
	}
	return failed
}

func readProcess(path string) (process, bool) {
	var p process
	content, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(content, &p) != nil {
		return process{}, false
	}
	return p, true
}

func (p process) write(path string) error {
	content, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return writeFile(path, string(content))
}
