//go:build fault

package fault

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase18ClusterWithoutEndpoints routes to a Service without endpoints, for which Envoy waits in vain, and moves the endpoint of
// another one between pods.
func TestCase18ClusterWithoutEndpoints(t *testing.T) {
	t.Parallel()
	const (
		moves = 10
		limit = time.Second
	)
	c := begin(t, "18", "one cluster without endpoints")
	w := newFixture(t)
	pods := w.Echo(t, "moving", 2)
	slice := live.EndpointSlice("manual", pods[0].Status.PodIP)
	w.Make(t, live.ManualService("manual"), slice)
	w.Route(t, "manual", gatewayName, "manual.example.com", "manual")
	w.WaitServed(t, w.address, "manual.example.com")

	var slowest time.Duration
	for i := range moves {
		// One more each time, so that some are always new to the proxy.
		empty := fmt.Sprintf("empty-%d", i)
		w.Make(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: empty}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		w.Route(t, empty, gatewayName, empty+".example.com", empty)
		slowest = max(slowest, w.MoveEndpoint(t, slice, &pods[(i+1)%len(pods)], w.address, "manual.example.com"))
	}
	c.note("%d moves", moves)
	c.took(slowest, "slowest", limit)
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(context.Context) error {
		if got := w.status(t, "empty-0.example.com"); got != 503 {
			return fmt.Errorf("a Service without endpoints is answered %d", got)
		}
		return nil
	})
	c.took(w.slowestOf(t, others, "other"), "others updated within", othersLimit)
}
