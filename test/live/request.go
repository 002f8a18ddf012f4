package live

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// Answer is what the echo backend says about itself.
type Answer struct {
	Pod string `json:"pod"`
	// Headers are those of the request.
	Headers map[string][]string `json:"headers"`
}

func (a *Answer) Read(content []byte) error {
	if err := json.Unmarshal(content, a); err != nil {
		return fmt.Errorf("read the echo of %q: %w", content, err)
	}
	return nil
}

// Host is an address as URLs have it. One that has a port, as [net.JoinHostPort] writes it, stays as it is.
func Host(address string) string {
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is6() {
		return "[" + address + "]"
	}
	return address
}

// Request sends one request through a Gateway on a connection of its own.
func (w *Fixture) Request(ctx context.Context, address, host string) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Host(address)+"/", http.NoBody)
	if err != nil {
		return Answer{}, fmt.Errorf("make a request to %s: %w", address, err)
	}
	request.Host = host
	response, err := w.HTTP.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("request to %s: %w", host, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("answer of %s: %w", host, err)
	}
	if response.StatusCode != http.StatusOK {
		return Answer{}, fmt.Errorf("answer of %s: %s %s", host, response.Status, body)
	}
	var a Answer
	if err := json.Unmarshal(body, &a); err != nil {
		return Answer{}, fmt.Errorf("answer of %s: %w", host, err)
	}
	return a, nil
}

// WaitServed waits until a host is answered through a Gateway.
func (w *Fixture) WaitServed(t *testing.T, address, host string) {
	t.Helper()
	Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		_, err := w.Request(ctx, address, host)
		return err
	})
}
