package main

import (
	"context"
	"fmt"
	"time"
)

// downloadWaits are the times between the attempts of a download, of which there is one more.
var downloadWaits = []time.Duration{5 * time.Second, 15 * time.Second}

// download calls f, which needs a network, until it succeeds or has failed three times.
func download(ctx context.Context, what string, f func(context.Context) error) error {
	return retry(ctx, what, downloadWaits, f)
}

func retry(ctx context.Context, what string, waits []time.Duration, f func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		err := f(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if attempt == len(waits) {
			return fmt.Errorf("%d attempts failed, the last one so: %w", len(waits)+1, err)
		}
		fmt.Printf("          %s: attempt %d of %d failed, the next one begins in %s: %v\n", what, attempt+1, len(waits)+1, waits[attempt], err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(waits[attempt]):
		}
	}
}

// downloadModules fetches the modules that a go.mod requires, so that a build after it needs no network, and fails at once if it fails.
func downloadModules(ctx context.Context, dir string) error {
	return download(ctx, "modules of "+dir, func(ctx context.Context) error {
		_, err := invocation{dir: dir, env: []string{goToolchain, "GOWORK=off"}, argv: []string{"go", "mod", "download"}}.run(ctx)
		return err
	})
}
