package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared is written by several goroutines.
type shared struct {
	mu sync.Mutex
	bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(p)
}

func TestAPIConnection(t *testing.T) {
	t.Parallel()
	t.Run("a server that comes back is reached by callers that wait, and the outage is logged once", func(t *testing.T) {
		t.Parallel()
		address := unused(t)
		log := &shared{}
		connection := &apiConnection{log: slog.New(slog.NewTextHandler(log, nil))}
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				c, err := connection.dial(t.Context(), "tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.Close()
			})
		}
		time.Sleep(100 * time.Millisecond)
		server, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		waiting.Wait()
		for _, message := range []string{"cannot be reached", "reached again"} {
			if n := strings.Count(log.String(), message); n != 1 {
				t.Errorf("%q was told %d times:\n%s", message, n, log.String())
			}
		}
	})
	t.Run("no caller waits for longer than asked", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		connection := &apiConnection{log: slog.New(slog.DiscardHandler)}
		_, err := connection.dial(ctx, "tcp", unused(t))
		if err == nil || errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("connected without a server: %v", err)
		}
	})
}

// unused is an address where no server listens.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
