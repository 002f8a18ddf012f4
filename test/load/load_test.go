package load_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/gatewright/gatewright/test/load"
	"github.com/gatewright/gatewright/test/refuse"
)

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("every answer that is not 200 is a failure with its reason", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var served atomic.Int64
			run := load.Start(t.Context(), inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
				if served.Add(1)%10 == 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
			time.Sleep(time.Second)
			result := run.Stop()
			if want := int(served.Load() / 10); want < 20 || result.Failures["status 503 Service Unavailable"] != want || result.Failed() != want {
				t.Errorf("want %d failures, got %s", want, result)
			}
			if result.Sent != int(served.Load()) {
				t.Errorf("sent %d, served %d", result.Sent, served.Load())
			}
		})
	})
	t.Run("a server that is gone is a failure", func(t *testing.T) {
		t.Parallel()
		run := load.Start(t.Context(), plan("http://"+refuse.At(t, "127.0.0.1")))
		waitSent(t, run)
		if result := run.Stop(); result.Sent == 0 || result.Failed() != result.Sent {
			t.Errorf("want only failures, got %s", result)
		}
	})
	t.Run("a certificate of another host is a failure", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(server.Close)
		secure := plan(server.URL)
		// The server's certificate is for the first.
		secure.Hosts, secure.Fresh = []string{"example.com", "example.org"}, true
		run := load.Start(t.Context(), secure)
		waitSent(t, run)
		result := run.Stop()
		if result.Sent < 2 || result.Failed() != result.Sent/2 {
			t.Errorf("want one half to fail, got %s", result)
		}
	})
	t.Run("a run that is not stopped ends by itself", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var served atomic.Int64
			short := inMemory(t, func(http.ResponseWriter, *http.Request) { served.Add(1) })
			short.MaxDuration = 200 * time.Millisecond
			began := time.Now()
			run := load.Start(t.Context(), short)
			<-run.Done()
			if took := time.Since(began); took != short.MaxDuration {
				t.Errorf("it ended after %s, want %s", took, short.MaxDuration)
			}
			if result := run.Stop(); result.Sent == 0 || result.Sent != int(served.Load()) {
				t.Errorf("served %d, got %s", served.Load(), result)
			}
		})
	})
}

// waitSent waits until a run has sent some requests.
func waitSent(t *testing.T, run *load.Run) {
	t.Helper()
	for run.Sent() < 20 {
		select {
		case <-run.Done():
			t.Fatalf("the run ended after %d requests", run.Sent())
		case <-time.After(time.Millisecond):
		}
	}
}

// plan has a worker for every request there can be, so that a busy machine does not make it wait for one.
func plan(url string) load.Plan {
	return load.Plan{URL: url, Rate: 500, Workers: 5000, Timeout: time.Minute, MaxDuration: time.Minute}
}

// inMemory runs a server, and plans requests to it. There are no sockets, so that it can be used in a bubble of synctest.
func inMemory(t *testing.T, handler http.HandlerFunc) load.Plan {
	t.Helper()
	server := &http.Server{Handler: handler, Protocols: &http.Protocols{}, ReadHeaderTimeout: time.Minute}
	server.Protocols.SetUnencryptedHTTP2(true)
	server.Protocols.SetHTTP1(true)
	listener := bufconn.Listen(64 << 10)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	p := plan("http://memory")
	p.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	return p
}
