//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

const protocolHost = "protocol.example.com"

// TestOldClients: a client that offers to switch to TLS, as Apache HttpClient does with each request, is served without, and so is
// HTTP/1.0. Another protocol that a client offers is refused.
func TestOldClients(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	w.Route(t, "route", "gateway", protocolHost, "echo")
	w.WaitServed(t, address, protocolHost)

	host := "Host: " + protocolHost + "\r\n"
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"an offer of TLS":                 {"GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n", 200},
		"an offer of two versions of TLS": {"GET / HTTP/1.1\r\n" + host + "Connection: upgrade\r\nUpgrade: tls/1.3, TLS/1.2\r\n\r\n", 200},
		"an offer of an unknown protocol": {"GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: other/1\r\n\r\n", 403},
		"HTTP/1.0 with a host":            {"GET / HTTP/1.0\r\n" + host + "\r\n", 200},
		"HTTP/1.0 without one":            {"GET / HTTP/1.0\r\n\r\n", 404},
		"HTTP/1.1 without one":            {"GET / HTTP/1.1\r\n\r\n", 400},
	} {
		answer, err := sendRaw(t.Context(), address, c.request)
		if err != nil || answer.status != c.want {
			t.Errorf("%s is answered %d, want %d: %v", name, answer.status, c.want, err)
		}
	}

	everyHost := live.HTTPRoute("every-host", "gateway", protocolHost, "echo")
	everyHost.Spec.Hostnames = nil
	w.Make(t, everyHost)
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		answer, err := sendRaw(ctx, address, "GET / HTTP/1.0\r\n\r\n")
		if err != nil {
			return err
		}
		return so("a route without hostnames serves HTTP/1.0 without a host", answer.status == http.StatusOK)
	})
}

// TestHTTP2Limits reads what a proxy allows its clients, uploads over a link that is slow to answer, and has more requests under way on
// one connection than browsers ever do. One invalid request among others ends alone.
func TestHTTP2Limits(t *testing.T) {
	t.Parallel()
	const together = 300
	w := newFixture(t)
	arrived := make(chan struct{}, together)
	enough := make(chan struct{})
	w.ServeHere(t, "here", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/together" {
			arrived <- struct{}{}
			select {
			case <-enough:
			case <-r.Context().Done():
			}
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(rw, "%d %v", n, err)
	})
	address := w.Gateway(t, "gateway")
	w.Route(t, "route", "gateway", protocolHost, "here")
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		answer, err := sendRaw(ctx, address, "GET / HTTP/1.1\r\nHost: "+protocolHost+"\r\n\r\n")
		if err != nil {
			return err
		}
		return so("the host is served", answer.status == http.StatusOK)
	})
	at := net.JoinHostPort(address, "80")

	t.Run("are announced", func(t *testing.T) {
		t.Parallel()
		checkSettings(t, at)
	})
	t.Run("let an upload over a long link be fast", func(t *testing.T) {
		t.Parallel()
		upload(t, at)
	})
	t.Run("allow many requests on a connection", func(t *testing.T) {
		t.Parallel()
		client := overHTTP2(at, 0)
		var group sync.WaitGroup
		failed := make(chan error, together)
		for range together {
			group.Go(func() { failed <- get2(t.Context(), client, "/together") })
		}
		for i := range together {
			select {
			case <-arrived:
			case <-time.After(30 * time.Second):
				t.Fatalf("%d requests of one connection are under way, want %d", i, together)
			}
		}
		close(enough)
		group.Wait()
		for range together {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("end an invalid request alone", func(t *testing.T) {
		t.Parallel()
		invalidStream(t, at)
	})
}

// checkSettings opens a connection of HTTP/2 and compares what the proxy allows with docs/http.md.
func checkSettings(t *testing.T, at string) {
	t.Helper()
	got, connectionWindow := readSettings(t, openHTTP2(t, at))
	if got[http2.SettingMaxConcurrentStreams] != 1024 || got[http2.SettingInitialWindowSize] != 256<<10 || connectionWindow != 4<<20 {
		t.Errorf("allowed are %v, and %d bytes on a connection", got, connectionWindow)
	}
}

// readSettings reads what a proxy allows its clients, and the window of the connection.
func readSettings(t *testing.T, framer *http2.Framer) (map[http2.SettingID]uint32, uint32) {
	t.Helper()
	got := map[http2.SettingID]uint32{}
	connectionWindow := uint32(65535)
	for len(got) == 0 || connectionWindow == 65535 {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("read settings: %v", err)
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			_ = f.ForeachSetting(func(s http2.Setting) error { got[s.ID] = s.Val; return nil })
		case *http2.WindowUpdateFrame:
			connectionWindow += f.Increment
		}
	}
	return got, connectionWindow
}

// upload sends 8 MiB over a link on which every byte takes 50 ms in each direction. With a window of 64 KiB it would take 12.8 s.
func upload(t *testing.T, at string) {
	t.Helper()
	const size = 8 << 20
	client := overHTTP2(at, 50*time.Millisecond)
	body := strings.NewReader(strings.Repeat("x", size))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+protocolHost+"/", body)
	if err != nil {
		t.Fatal(err)
	}
	begin := clock.Now()
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("upload: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, _ := io.ReadAll(response.Body)
	took := clock.Since(begin)
	t.Logf("%d bytes took %s", size, took)
	if want := fmt.Sprintf("%d <nil>", size); string(answer) != want || took > 10*time.Second {
		t.Errorf("%q after %s, want %q within 10 s", answer, took, want)
	}
}

// invalidStream sends a request that HTTP/2 forbids, then a good one on the same connection.
func invalidStream(t *testing.T, at string) {
	t.Helper()
	framer := openHTTP2(t, at)
	// A header that belongs to a connection of HTTP/1.1 makes a message malformed: RFC 9113, 8.2.2.
	writeRequest(t, framer, 1, [2]string{"connection", "close"})
	writeRequest(t, framer, 3, [2]string{"x-good", "yes"})
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("the connection ended with the invalid request: %v", err)
		}
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			t.Fatalf("the connection is told to go: %v", f)
		case *http2.MetaHeadersFrame:
			if f.StreamID == 3 && f.PseudoValue("status") == "200" {
				return
			}
		}
	}
}

// get2 asks for a path.
func get2(ctx context.Context, client *http.Client, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+protocolHost+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// overHTTP2 is a client with one connection of HTTP/2 in plain text, on which every byte is late by a delay.
func overHTTP2(at string, delay time.Duration) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		Protocols: protocols,
		HTTP2:     &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			connection, err := new(net.Dialer).DialContext(ctx, "tcp", at)
			if err != nil || delay == 0 {
				return connection, err
			}
			return late(connection, delay), nil
		},
	}}
}
