package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	t.Parallel()

	t.Run("a recorded process is found again and stopped", func(t *testing.T) {
		t.Parallel()
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = cmd.Wait() }()
		started, err := startTime(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		record := filepath.Join(t.TempDir(), "sleep.json")
		if err := (process{PID: cmd.Process.Pid, Started: started}).write(record); err != nil {
			t.Fatal(err)
		}
		p, found := readProcess(record)
		if !found || !p.running() {
			t.Fatalf("found %v, running %v", found, p.running())
		}
		if err := p.stop(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		if p.running() {
			t.Error("it still runs")
		}
	})
	t.Run("another process with the same id is left alone", func(t *testing.T) {
		t.Parallel()
		recycled := process{PID: os.Getpid(), Started: "1"}
		if recycled.running() {
			t.Error("taken for the recorded one")
		}
		if err := recycled.stop(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
	})
}
