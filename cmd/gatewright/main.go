package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gatewright/gatewright/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := app.Command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gatewright:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}
