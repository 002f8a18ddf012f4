package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// upTo prepares the state and the record of a cluster whose up was killed before its first daemon.
func upTo(t *testing.T) (l layout, run string) {
	t.Helper()
	dir := t.TempDir()
	l = layout{state: filepath.Join(dir, "state", "cluster")}
	run = filepath.Join(dir, "run")
	for path, content := range map[string]string{l.path("family"): "ipv4", filepath.Join(run, recordFile): l.state} {
		if err := writeFile(path, content); err != nil {
			t.Fatal(err)
		}
	}
	return l, run
}

// startDaemon starts a process as a daemon of a cluster, but for its network namespace, and returns it.
func startDaemon(t *testing.T, environment ...string) process {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	started, err := startTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return process{PID: cmd.Process.Pid, Started: started, Argv: cmd.Args}
}

func TestWhatUpCannotGoOnWith(t *testing.T) {
	t.Parallel()
	const ours = "/proc/self/ns/net"
	for _, c := range []struct {
		name     string
		change   func(t *testing.T, l layout, run string)
		network  string
		expected string
	}{
		{"what an interrupted up left is good", func(*testing.T, layout, string) {}, ours, ""},
		{"daemons in the namespace are good", func(t *testing.T, l layout, _ string) {
			t.Helper()
			if err := startDaemon(t).write(l.path("processes", "etcd.json")); err != nil {
				t.Fatal(err)
			}
		}, ours, ""},
		{"daemons that have ended are good, they are started again", func(t *testing.T, l layout, _ string) {
			t.Helper()
			if err := (process{PID: os.Getpid(), Started: "1"}).write(l.path("processes", "etcd.json")); err != nil {
				t.Fatal(err)
			}
		}, "missing", ""},
		{"a down was interrupted", func(t *testing.T, l layout, _ string) {
			t.Helper()
			if err := writeFile(l.stoppingFile(), ""); err != nil {
				t.Fatal(err)
			}
		}, ours, "an earlier down was interrupted"},
		{"the machine was restarted", func(t *testing.T, _ layout, run string) {
			t.Helper()
			if err := os.RemoveAll(run); err != nil {
				t.Fatal(err)
			}
		}, ours, "without a record"},
		{"the namespace is gone while a daemon runs", func(t *testing.T, l layout, _ string) {
			t.Helper()
			if err := startDaemon(t).write(l.path("processes", "etcd.json")); err != nil {
				t.Fatal(err)
			}
		}, "missing", "etcd runs outside the network namespace"},
		{"the namespace was made anew while a daemon runs", func(t *testing.T, l layout, _ string) {
			t.Helper()
			if err := startDaemon(t).write(l.path("processes", "etcd.json")); err != nil {
				t.Fatal(err)
			}
		}, "/proc/self/ns/mnt", "etcd runs outside the network namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, run := upTo(t)
			c.change(t, l, run)
			if reason := leftOver(l, run, c.network); c.expected == "" && reason != "" || !strings.Contains(reason, c.expected) {
				t.Errorf("the reason is %q, not %q", reason, c.expected)
			}
		})
	}
}

func TestAClusterIsNotMistakenForOneWithItsStateElsewhere(t *testing.T) {
	t.Parallel()
	l, run := upTo(t)
	if err := checkRecord(run, l.state); err != nil {
		t.Error(err)
	}
	err := checkRecord(run, "/srv/cluster")
	if err == nil || !strings.Contains(err.Error(), "GATEWRIGHT_STATE="+filepath.Dir(l.state)) {
		t.Errorf("the error does not say what to set: %v", err)
	}
	if err := os.RemoveAll(l.state); err != nil {
		t.Fatal(err)
	}
	if err := checkRecord(run, "/srv/cluster"); err != nil {
		t.Errorf("there is no state elsewhere: %v", err)
	}
}

func TestADaemonIsFoundWithoutItsRecord(t *testing.T) {
	t.Parallel()
	const name = "cluster-of-another-test"
	l, _ := upTo(t)
	lost, recorded := startDaemon(t, daemonVariable+"="+name), startDaemon(t, daemonVariable+"="+name)
	other := startDaemon(t, daemonVariable+"=another")
	if err := recorded.write(l.path("processes", "etcd.json")); err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, p := range unrecorded(l, name) {
		found[p.PID] = true
	}
	if !found[lost.PID] || found[recorded.PID] || found[other.PID] {
		t.Errorf("found %v; lost is %d, recorded %d, that of another cluster %d", found, lost.PID, recorded.PID, other.PID)
	}
	if err := stopAll(t.Context(), []process{lost, recorded}, stopGrace); err != nil {
		t.Error(err)
	}
	if lost.running() || recorded.running() || !other.running() {
		t.Error("not those were stopped that should be")
	}
}
