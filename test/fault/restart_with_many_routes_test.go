//go:build fault

package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase05RestartWithManyRoutes restarts the whole control plane where there are thousands of routes. The proxy that was there is not
// told of anything it has, and one that starts meanwhile is not ready before it has everything: no proxy is served before everything is
// read.
//
//nolint:paralleltest // it takes the controller from every other case
func TestCase05RestartWithManyRoutes(t *testing.T) {
	c := begin(t, "5", "the controllers restart")
	w := newFixture(t)
	routes := amount(5000, 1000)
	w.manyRoutes(t, routes, nil)
	proxy := w.OneProxy(t, gatewayName)
	w.allServed(t, proxy, routes)
	before := stats(t, proxy)
	run := w.startLoad(t, manyHost(routes/2))

	restart := w.RestartControllers(t)
	w.ScaleProxies(t, gatewayName, 2)
	fresh := w.nextReady(t, proxy.Name)
	missing := w.missing(t, fresh, routes)
	w.waitConnected(t, proxy)

	c.note("%d routes", routes)
	c.took(restart, "controllers ready after", time.Minute)
	c.load(run.Stop())
	after := stats(t, proxy)
	for name, what := range map[string]string{
		"listener_manager.listener_removed":  "listeners removed",
		"listener_manager.listener_modified": "listeners changed",
		"cluster_manager.cluster_removed":    "clusters removed",
	} {
		c.none(after[name]-before[name], what)
	}
	c.none(missing, "routes missing in a new proxy when it was ready")
}

// nextReady waits for another proxy than the one that is known, and returns it as soon as it is ready.
func (w *fixture) nextReady(t *testing.T, known string) *corev1.Pod {
	t.Helper()
	var found corev1.Pod
	live.Eventually(t, 2*time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		pods, err := w.Proxies(ctx, gatewayName)
		if err != nil {
			return err
		}
		for i := range pods {
			if pods[i].Name != known && live.PodReady(&pods[i]) {
				found = pods[i]
				return nil
			}
		}
		return errors.New("the new proxy is not ready")
	})
	return &found
}

// missing counts the routes that a proxy does not serve.
func (w *fixture) missing(t *testing.T, proxy *corev1.Pod, routes int) int {
	t.Helper()
	var mu sync.Mutex
	missing := 0
	var clients sync.WaitGroup
	for client := range live.Writers {
		clients.Go(func() {
			for i := client; i < routes; i += live.Writers {
				if _, err := w.Request(t.Context(), proxy.Status.PodIP, manyHost(i)); err != nil {
					mu.Lock()
					missing++
					mu.Unlock()
				}
			}
		})
	}
	clients.Wait()
	return missing
}

func (w *fixture) allServed(t *testing.T, proxy *corev1.Pod, routes int) {
	t.Helper()
	live.Eventually(t, time.Minute, time.Second, func(context.Context) error {
		if missing := w.missing(t, proxy, routes); missing > 0 {
			return fmt.Errorf("%d of %d routes are not served", missing, routes)
		}
		return nil
	})
}

// waitConnected waits until a proxy has a stream.
func (w *fixture) waitConnected(t *testing.T, proxy *corev1.Pod) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(context.Context) error {
		if stats(t, proxy)["control_plane.connected_state"] != 1 {
			return errors.New("the proxy is not connected")
		}
		return nil
	})
}
