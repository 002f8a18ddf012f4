package main

import (
	"context"
	"fmt"
	"time"
)

// heartbeat is how often a long step says that it is still at work.
const heartbeat = 15 * time.Second

// step runs one named part of a command and shows how long it took.
func step(ctx context.Context, name string, f func(context.Context) error) error {
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				fmt.Printf("%8s  %s: failed\n", elapsed(start), name)
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Printf("%8s  %s\n", elapsed(start), name)
			return nil
		case <-tick.C:
			fmt.Printf("%8s  %s ...\n", elapsed(start), name)
		}
	}
}

func elapsed(start time.Time) string {
	return time.Since(start).Round(100 * time.Millisecond).String()
}

// eventually calls f until it succeeds; the last reason is reported when time is up.
func eventually(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var reason error
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || reason == nil { // the end of time is no reason
			reason = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, reason)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
