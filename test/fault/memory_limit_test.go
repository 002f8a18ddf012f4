//go:build fault

package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase33MemoryLimitReached has clients hold more memory of a proxy than it may use, by large requests that are answered late: it
// answers 503 instead of being killed, and serves all clients again when they are gone.
//
//nolint:paralleltest // it takes the machine from every other case
func TestCase33MemoryLimitReached(t *testing.T) {
	const (
		gatewayName = "tight"
		recovery    = 30 * time.Second
	)
	c := begin(t, "33", "more memory is wanted of a proxy than it may use")
	w := &fixture{Fixture: live.New(t)}
	w.Echo(t, serviceName, 2)
	w.EchoService(t, serviceName)
	memory := resource.MustParse("96Mi")
	gateway, config := live.GatewayWith(gatewayName, v1alpha1.ProxyConfigSpec{
		Concurrency: new(int32(1)),
		Pod:         &v1alpha1.Pod{Resources: &v1alpha1.Resources{Limits: corev1.ResourceList{corev1.ResourceMemory: memory}}},
	})
	w.Make(t, config)
	w.address = w.Programmed(t, gateway)
	w.Route(t, "steady", gatewayName, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	proxy := w.OneProxy(t, gatewayName)

	shed, answered, lost := w.large(t, amount(4000, 1500), amount(1000, 500))
	c.note("%s large requests answered", grouped(answered))
	c.note("%s rejected with 503", grouped(shed))
	c.note("%s lost", grouped(lost))
	if shed == 0 {
		t.Error("the proxy rejected no request: it was never near its limit")
	}
	began := clock.Now()
	w.WaitServed(t, w.address, steadyHost)
	c.took(clock.Since(began), "others are served again after", recovery)
	after := w.OneProxy(t, gatewayName)
	if after.Name != proxy.Name {
		t.Errorf("proxy %s was replaced by %s", proxy.Name, after.Name)
	}
	c.none(w.Restarts(t, gatewayName), "kills for memory")
}

// large sends requests with large headers whose answers are late, many at a time, and counts what became of them.
func (w *fixture) large(t *testing.T, requests, atOnce int) (shed, answered, lost int) {
	t.Helper()
	var refused, fine, broken, next atomic.Int64
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	var group sync.WaitGroup
	for i := range atOnce {
		group.Go(func() {
			// They come one after the other, so that the proxy can see what they take.
			select {
			case <-time.After(time.Duration(i) * 10 * time.Millisecond):
			case <-t.Context().Done():
			}
			for next.Add(1) <= int64(requests) {
				switch status, err := w.largeRequest(t.Context(), client); {
				case err != nil:
					broken.Add(1)
				case status == http.StatusOK:
					fine.Add(1)
				default:
					refused.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(refused.Load()), int(fine.Load()), int(broken.Load())
}

var largeHeader = strings.Repeat("x", 48<<10)

func (w *fixture) largeRequest(ctx context.Context, client *http.Client) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+"/?delay=3s", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	request.Host = steadyHost
	request.Header.Set("X-Large", largeHeader)
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("large request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, fmt.Errorf("large answer: %w", err)
	}
	return response.StatusCode, nil
}
