package app

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
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
		synctest.Test(t, func(t *testing.T) {
			address, listen := closedPort(t)
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
			synctest.Wait() // until each has failed once
			listen()
			began := time.Now()
			waiting.Wait()
			if took := time.Since(began); took > dialPause {
				t.Errorf("the callers waited for another %s, want at most %s", took, dialPause)
			}
			for _, message := range []string{"cannot be reached", "reached again"} {
				if n := strings.Count(log.String(), message); n != 1 {
					t.Errorf("%q was told %d times:\n%s", message, n, log.String())
				}
			}
		})
	})
	t.Run("no caller waits for longer than asked", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			const asked = 5 * dialPause / 2
			ctx, cancel := context.WithTimeout(t.Context(), asked)
			defer cancel()
			address, _ := closedPort(t)
			connection := &apiConnection{log: slog.New(slog.DiscardHandler)}
			began := time.Now()
			_, err := connection.dial(ctx, "tcp", address)
			if took := time.Since(began); err == nil || took != asked {
				t.Errorf("after %s, want %s: %v", took, asked, err)
			}
		})
	})
}

// closedPort returns an address that refuses connections until listen is called. It is bound, so that no other process can use it.
func closedPort(t *testing.T) (address string, listen func()) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	must(err)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	syscall.CloseOnExec(socket)
	must(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(socket)
	must(err)
	v4, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("the address is %v", bound)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(v4.Port)), func() { must(syscall.Listen(socket, 16)) }
}
