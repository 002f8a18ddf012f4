package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopGrace is how long a daemon may take to end before it is killed: its state is deleted anyway.
const stopGrace = 4 * time.Second

// daemonVariable is in the environment of each daemon and holds the name of its cluster. By it a daemon is found that was not recorded,
// because up was killed when it had just started it, or whose record was deleted.
const daemonVariable = "GATEWRIGHT_DAEMON_OF"

// daemon is a part of the cluster that runs in the background inside the network namespace.
type daemon struct {
	name  string
	argv  []string
	ready func(context.Context) error
}

// ensure starts the daemon unless it runs with the same arguments, and waits until it is ready.
func (d daemon) ensure(ctx context.Context, l layout) error {
	record := l.path("processes", d.name+".json")
	if p, found := readProcess(record); found && p.running() {
		if slices.Equal(p.Argv, d.argv) {
			return d.waitReady(ctx, l, p)
		}
		if err := p.stop(ctx, stopGrace); err != nil {
			return fmt.Errorf("restart %s: %w", d.name, err)
		}
	}
	p, err := d.start(l)
	if err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	if err := p.write(record); err != nil {
		return errors.Join(err, p.stop(ctx, stopGrace))
	}
	return d.waitReady(ctx, l, p)
}

func (d daemon) start(l layout) (process, error) {
	if err := os.MkdirAll(l.path("logs"), 0o755); err != nil {
		return process{}, fmt.Errorf("create the log directory: %w", err)
	}
	log, err := os.OpenFile(l.logFile(d.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return process{}, fmt.Errorf("open the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	argv := insideNamespace(d.argv...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = l.state
	cmd.Env = append(os.Environ(), daemonVariable+"="+clusterName)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process{}, fmt.Errorf("execute %s: %w", argv[0], err)
	}
	// nsenter becomes the daemon by exec, so id and start time stay.
	started, err := startTime(cmd.Process.Pid)
	if err != nil {
		return process{}, err
	}
	go func() { _ = cmd.Wait() }() // so that an early end is seen as an end, not as a zombie
	return process{PID: cmd.Process.Pid, Started: started, Argv: d.argv}, nil
}

func (d daemon) waitReady(ctx context.Context, l layout, p process) error {
	var ended error
	err := eventually(ctx, 90*time.Second, func(ctx context.Context) error {
		if !p.running() {
			ended = errors.New("it has ended")
			return nil
		}
		if d.ready == nil {
			return nil
		}
		return d.ready(ctx)
	})
	if err = errors.Join(err, ended); err != nil {
		return fmt.Errorf("%s is not ready: %w\n%s\nsee %s", d.name, err, d.lastLog(l), l.logFile(d.name))
	}
	return nil
}

func (d daemon) lastLog(l layout) string {
	content, err := os.ReadFile(l.logFile(d.name))
	if err != nil {
		return ""
	}
	return lastLines(string(content), 5)
}

// stopDaemons stops the named daemons at the same time and forgets them.
func stopDaemons(ctx context.Context, l layout, names ...string) error {
	results := make(chan error, len(names))
	for _, name := range names {
		go func() {
			record := l.path("processes", name+".json")
			p, found := readProcess(record)
			if !found {
				results <- nil
				return
			}
			if err := p.stop(ctx, stopGrace); err != nil {
				results <- fmt.Errorf("stop %s: %w", name, err)
				return
			}
			results <- os.Remove(record)
		}()
	}
	var failed error
	for range names {
		failed = errors.Join(failed, <-results)
	}
	return failed
}

// recordedDaemons lists every daemon that was ever started and not stopped.
func recordedDaemons(l layout) []string {
	records, _ := filepath.Glob(l.path("processes", "*.json"))
	names := make([]string, 0, len(records))
	for _, r := range records {
		base := filepath.Base(r)
		names = append(names, base[:len(base)-len(".json")])
	}
	return names
}

// unrecorded finds the daemons of a cluster that have no record. What a daemon starts itself leads no session, and is not among them.
func unrecorded(l layout, cluster string) []process {
	recorded := map[int]string{}
	for _, name := range recordedDaemons(l) {
		if p, found := readProcess(l.path("processes", name+".json")); found {
			recorded[p.PID] = p.Started
		}
	}
	found := processes(func(pid int) bool {
		session, err := unix.Getsid(pid)
		return err == nil && session == pid && daemonOf(pid) == cluster
	})
	return slices.DeleteFunc(found, func(p process) bool { return recorded[p.PID] == p.Started })
}

// daemonOf returns the name of the cluster that a process belongs to, or nothing.
func daemonOf(pid int) string {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if name, found := strings.CutPrefix(variable, daemonVariable+"="); found {
			return name
		}
	}
	return ""
}
