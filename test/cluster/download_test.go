package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestADownloadIsTriedThreeTimes(t *testing.T) {
	t.Parallel()
	waits := make([]time.Duration, len(downloadWaits))
	broken := errors.New("connection reset")
	for failures, expected := range map[int]int{0: 1, 1: 2, 2: 3, 3: 3, 10: 3} {
		calls := 0
		err := retry(t.Context(), "envoy", waits, func(context.Context) error {
			if calls++; calls <= failures {
				return broken
			}
			return nil
		})
		if calls != expected || (err != nil) != (failures >= 3) {
			t.Errorf("%d failures: %d calls, %v", failures, calls, err)
		}
		if err != nil && (!errors.Is(err, broken) || !strings.Contains(err.Error(), "3 attempts failed")) {
			t.Errorf("the error does not say how often and why: %v", err)
		}
	}
}

func TestAnInterruptEndsADownload(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := retry(ctx, "envoy", []time.Duration{time.Hour, time.Hour}, func(context.Context) error {
		calls++
		cancel()
		return errors.New("interrupted")
	})
	if calls != 1 || err == nil {
		t.Errorf("%d calls, %v", calls, err)
	}
}
