//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase38NamespaceLabelChanges has a listener take routes from namespaces with a label, and gives and takes the label. Another
// listener of the Gateway does not notice.
func TestCase38NamespaceLabelChanges(t *testing.T) {
	t.Parallel()
	const (
		flips = 10
		limit = time.Second
		label = "gatewright.test/chosen"
		host  = "chosen.example.com"
	)
	c := begin(t, "38", "namespace labels flip")
	w := newFixture(t)
	w.setListeners(t, gwv1.Listener{
		Name: "chosen", Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(host)),
		AllowedRoutes: &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{
			From: new(gwv1.NamespacesFromSelector), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}},
		}},
	})
	w.countConflicted(t, false, "http", "chosen")
	route := live.HTTPRoute("chosen", gatewayName, host, serviceName)
	route.Spec.ParentRefs[0].SectionName = new(gwv1.SectionName("chosen"))
	w.Make(t, route)
	run := w.startLoad(t, steadyHost)

	var attached, detached time.Duration
	for range flips {
		attached = max(attached, w.flip(t, label, "yes", host, http.StatusOK))
		detached = max(detached, w.flip(t, label, "no", host, http.StatusNotFound))
	}
	c.note("%d flips", flips)
	c.took(attached, "slowest attached after", limit)
	c.took(detached, "slowest detached after", limit)
	c.load(run.Stop())
	// The status is written when the proxies have answered, which is after the first of them does as wanted.
	live.Eventually(t, limit, 20*time.Millisecond, func(ctx context.Context) error {
		_, reason, _, err := w.conditionOf(ctx, route, string(gwv1.RouteConditionAccepted))
		if err == nil && reason != string(gwv1.RouteReasonNotAllowedByListeners) {
			err = fmt.Errorf("the route says %s", reason)
		}
		return err
	})
}

// flip sets a label of the namespace and returns how long it takes until a host is answered as wanted.
func (w *fixture) flip(t *testing.T, label, value, host string, want int) time.Duration {
	t.Helper()
	live.Eventually(t, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		namespace := &corev1.Namespace{}
		if err := w.Get(ctx, client.ObjectKey{Name: w.Namespace}, namespace); err != nil {
			return fmt.Errorf("get the namespace: %w", err)
		}
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[label] = value
		return w.Update(ctx, namespace)
	})
	return live.Eventually(t, time.Minute, 10*time.Millisecond, func(context.Context) error {
		if got := w.status(t, host); got != want {
			return fmt.Errorf("%s is answered %d, want %d", host, got, want)
		}
		return nil
	})
}
