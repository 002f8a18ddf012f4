package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newLock is one that a test waits for, for a moment or for as long as it takes.
func newLock(t *testing.T, timeout time.Duration) lockfile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "locks", "cluster-a")
	return lockfile{path: path, what: "cluster a", timeout: timeout, interval: 10 * time.Millisecond}
}

func acquire(t *testing.T, lock lockfile) (release func()) {
	t.Helper()
	release, err := lock.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return release
}

func TestACommandThatWaitsForALockLearnsWhoHasIt(t *testing.T) {
	t.Parallel()
	lock := newLock(t, 50*time.Millisecond)
	acquire(t, lock)
	_, err := lock.acquire(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cluster a is still in use") || !strings.Contains(err.Error(), os.Args[0]) {
		t.Errorf("the error does not name what is in use and by which command: %v", err)
	}
}

func TestACommandThatWaitsForALockHasItAfterTheOther(t *testing.T) {
	t.Parallel()
	lock := newLock(t, time.Hour)
	release := acquire(t, lock)
	acquired := make(chan error)
	go func() { acquired <- lock.hold(t.Context(), func() error { return nil }) }()
	release()
	if err := <-acquired; err != nil {
		t.Error(err)
	}
}

func TestAnInterruptEndsTheWaitForALock(t *testing.T) {
	t.Parallel()
	lock := newLock(t, time.Hour)
	acquire(t, lock)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock.acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("not ended by the interrupt: %v", err)
	}
}

func TestANameDoesNotWaitForAnotherName(t *testing.T) {
	t.Parallel()
	lock := newLock(t, time.Millisecond)
	acquire(t, lock)
	lock.path = filepath.Join(filepath.Dir(lock.path), "cluster-b")
	acquire(t, lock)
}

func TestALockThatItsHolderRemovedIsNotMistakenForTheNewOne(t *testing.T) {
	t.Parallel()
	lock := newLock(t, time.Millisecond)
	release := acquire(t, lock)
	late, err := lock.open() // by a command that waits
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.remove(); err != nil {
		t.Fatal(err)
	}
	release()
	if lock.names(late) {
		t.Error("the removed file counts as the lock")
	}
	acquire(t, lock)
	if err := errors.Join(late.Close(), lock.remove()); err != nil {
		t.Error(err)
	}
	if exists(filepath.Dir(lock.path)) {
		t.Error("the directory of locks is left")
	}
}
