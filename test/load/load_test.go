package load_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/load"
)

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("every answer that is not 200 is a failure with its reason", func(t *testing.T) {
		t.Parallel()
		var served atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if served.Add(1)%10 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		t.Cleanup(server.Close)
		run := load.Start(t.Context(), plan(server.URL))
		for served.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
		result := run.Stop()
		if want := int(served.Load() / 10); result.Failures["status 503 Service Unavailable"] != want || result.Failed() != want {
			t.Errorf("want %d failures, got %s", want, result)
		}
		if result.Sent != int(served.Load()) {
			t.Errorf("sent %d, served %d", result.Sent, served.Load())
		}
	})
	t.Run("a server that is gone is a failure", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		run := load.Start(t.Context(), plan(server.URL))
		waitSent(run)
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
		waitSent(run)
		result := run.Stop()
		if result.Sent < 2 || result.Failed() != result.Sent/2 {
			t.Errorf("want one half to fail, got %s", result)
		}
	})
	t.Run("a run that is not stopped ends by itself", func(t *testing.T) {
		t.Parallel()
		var served atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
		t.Cleanup(server.Close)
		short := plan(server.URL)
		short.MaxDuration = 200 * time.Millisecond
		run := load.Start(t.Context(), short)
		<-run.Done()
		if result := run.Stop(); result.Sent == 0 || result.Sent != int(served.Load()) {
			t.Errorf("served %d, got %s", served.Load(), result)
		}
	})
}

// waitSent waits until a run has sent some requests.
func waitSent(run *load.Run) {
	for run.Sent() < 20 {
		time.Sleep(time.Millisecond)
	}
}

// plan has a worker for every request there can be, so that a busy machine does not make it wait for one.
func plan(url string) load.Plan {
	return load.Plan{URL: url, Rate: 500, Workers: 5000, Timeout: time.Minute, MaxDuration: time.Minute}
}
