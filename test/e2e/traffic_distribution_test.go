//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/live"
)

const nearHost = "near.example.com"

// TestTrafficDistribution has a proxy send requests to the endpoints that are for its node, as the hints of an EndpointSlice say, and to
// all without hints. With internalTrafficPolicy Local it sends none to other nodes.
func TestTrafficDistribution(t *testing.T) {
	t.Parallel()
	const host, elsewhere = nearHost, "elsewhere"
	w := newFixture(t)
	pods := w.Echo(t, "near", 2)
	address := w.Gateway(t, "gateway")
	node := w.OneProxy(t, "gateway").Spec.NodeName
	slice := live.EndpointSlice("near-manual", pods[0].Status.PodIP)
	slice.Endpoints = append(slice.Endpoints, *slice.Endpoints[0].DeepCopy())
	slice.Endpoints[1].Addresses = []string{pods[1].Status.PodIP}
	w.Make(t, live.ManualService("near-manual"), slice)
	w.Route(t, "near", "gateway", host, "near-manual")
	w.waitAnsweredBy(t, address, 2)

	place := func(nodes [2]string, hints bool) {
		t.Helper()
		for i := range slice.Endpoints {
			slice.Endpoints[i].NodeName, slice.Endpoints[i].Hints = &nodes[i], nil
			if hints {
				slice.Endpoints[i].Hints = &discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: nodes[i]}}}
			}
		}
		if err := w.Update(t.Context(), slice); err != nil {
			t.Fatalf("change the endpoints: %v", err)
		}
	}
	place([2]string{node, elsewhere}, true)
	w.waitAnsweredBy(t, address, 1)
	place([2]string{elsewhere, elsewhere}, true)
	w.waitAnsweredBy(t, address, 2)
	place([2]string{node, elsewhere}, false)
	w.waitAnsweredBy(t, address, 2)

	live.Eventually(t, 10*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		var service corev1.Service
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "near-manual"}, &service); err != nil {
			return fmt.Errorf("get the Service: %w", err)
		}
		service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		return w.Update(ctx, &service)
	})
	w.waitAnsweredBy(t, address, 1)
	place([2]string{elsewhere, elsewhere}, false)
	live.Eventually(t, 30*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		r, err := w.ask(ctx, address, host, "", nil)
		if err == nil && r.status != http.StatusServiceUnavailable {
			err = fmt.Errorf("without an endpoint on the node: %d, want 503", r.status)
		}
		return err
	})
}

// waitAnsweredBy waits until 40 requests in a row are answered by that many pods.
func (w *fixture) waitAnsweredBy(t *testing.T, address string, want int) {
	t.Helper()
	live.Eventually(t, 30*time.Second, 200*time.Millisecond, func(ctx context.Context) error {
		pods := map[string]int{}
		for range 40 {
			answer, err := w.Request(ctx, address, nearHost)
			if err != nil {
				return err
			}
			pods[answer.Pod]++
		}
		if len(pods) != want {
			return fmt.Errorf("answered by %v, want %d pods", pods, want)
		}
		return nil
	})
}
