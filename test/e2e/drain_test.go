//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestDrainTimes deletes a proxy that has been given little time to end, while requests are under way: the one that can finish in that time
// does, the other is cut when it is over.
func TestDrainTimes(t *testing.T) {
	t.Parallel()
	const (
		delay   = 2 * time.Second
		timeout = 6 * time.Second
		host    = "drain.example.com"
	)
	w := newFixture(t)
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.Make(t, &v1alpha1.ProxyConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "hasty"},
		Spec: v1alpha1.ProxyConfigSpec{Drain: &v1alpha1.Drain{
			Delay: new(gwv1.Duration(delay.String())), Timeout: new(gwv1.Duration(timeout.String())),
		}},
	})
	address := w.Programmed(t, &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "gateway"},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: live.GatewayClass,
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
			Infrastructure: &gwv1.GatewayInfrastructure{
				ParametersRef: &gwv1.LocalParametersReference{Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: "hasty"},
			},
		},
	})
	w.Route(t, "route", "gateway", host, "echo")
	w.WaitServed(t, address, host)

	proxy := w.OneProxy(t, "gateway")
	short, long := w.slowRequest(t, address, host, 4*time.Second), w.slowRequest(t, address, host, time.Minute)
	time.Sleep(500 * time.Millisecond) // both are under way
	start := clock.Now()
	if err := w.Delete(t.Context(), proxy); err != nil {
		t.Fatalf("delete the proxy: %v", err)
	}
	if err := <-short; err != nil {
		t.Errorf("a request that takes 4 s: %v", err)
	}
	err := <-long
	took, present := clock.Wall(start), clock.Since(start)
	t.Logf("a request that takes a minute ended after %s: %v", took, err)
	if err == nil || took < delay+timeout-time.Second || present > delay+timeout+5*time.Second {
		t.Errorf("a request that takes a minute ended %s after the proxy was deleted, with %v; want it cut after %s", took, err, delay+timeout)
	}
}

// slowRequest sends a request whose answer takes that long, and gives what became of it.
func (w *fixture) slowRequest(t *testing.T, address, host string, takes time.Duration) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		ended <- func() error {
			request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, fmt.Sprintf(
				"http://%s/?delay=%s", live.Host(address), takes,
			), http.NoBody)
			if err != nil {
				return fmt.Errorf("make a request: %w", err)
			}
			request.Host = host
			client := &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
			response, err := client.Do(request)
			if err != nil {
				return fmt.Errorf("request: %w", err)
			}
			defer func() { _ = response.Body.Close() }()
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
				return fmt.Errorf("answer: %s, %w", response.Status, err)
			}
			return nil
		}()
	}()
	return ended
}
