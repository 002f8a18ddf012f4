//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/e2e/load"
)

const (
	routeEdits = 100
	editPause  = 100 * time.Millisecond
)

// TestRouteEdits edits one live route again and again under load: Service, port, weights, filters on rule and backend, order of rules.
// Every variant answers 200 once it is live, so any other answer is a change that dropped a request: a route that named a cluster
// before the proxy had it, or a cluster that left before its last route.
func TestRouteEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.echo(t, "edited", 1)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.create(t, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "edited"},
				Ports: []corev1.ServicePort{
					{Name: "http", Port: 80, TargetPort: intstr.FromInt32(echoPort)},
					{Name: "more", Port: 81, TargetPort: intstr.FromInt32(echoPort)},
				},
			},
		})
	}
	address := w.gateway(t, "gateway")
	route := w.route(t, "edited", "gateway", "edited.example.com", "a")
	w.waitServed(t, address, "edited.example.com")

	run := load.Start(t.Context(), load.Plan{
		URL: "http://" + address + "/", Host: "edited.example.com",
		Rate: 200, Workers: 64, Timeout: 5 * time.Second, MaxDuration: 2 * time.Minute,
	})
	for i := range routeEdits {
		w.editRules(t, route, variants[i%len(variants)])
		time.Sleep(editPause)
	}
	result := run.Stop()
	t.Logf("%d edits: %s", routeEdits, result)
	if result.Failed() > 0 || result.Sent == 0 {
		t.Errorf("want requests and no failure: %s", result)
	}
}

// variants are rules that all answer 200, each of which needs clusters that the one before does not have.
var variants = [][]gwv1.HTTPRouteRule{
	{rule(backend("b", 80, 1))},
	{rule(backend("b", 81, 1))},
	{rule(backend("c", 80, 1), backend("d", 80, 1))},
	{rule(backend("d", 80, 3), backend("a", 81, 1))},
	{withHeader(rule(backend("a", 81, 1)))},
	{rule(backend("a", 80, 1)), path(rule(backend("c", 81, 1)), "/x")},
	{path(rule(backend("c", 81, 1)), "/x"), rule(backend("c", 80, 1))},
	{rule(filtered(backend("d", 81, 1)))},
	{rule(backend("a", 80, 1))},
}

func rule(backends ...gwv1.HTTPBackendRef) gwv1.HTTPRouteRule {
	return gwv1.HTTPRouteRule{BackendRefs: backends}
}

func backend(name string, port gwv1.PortNumber, weight int32) gwv1.HTTPBackendRef {
	return gwv1.HTTPBackendRef{BackendRef: gwv1.BackendRef{
		BackendObjectReference: gwv1.BackendObjectReference{Name: gwv1.ObjectName(name), Port: &port}, Weight: &weight,
	}}
}

func headerFilter() []gwv1.HTTPRouteFilter {
	return []gwv1.HTTPRouteFilter{{
		Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
		RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: "X-Edited", Value: "100%"}}},
	}}
}

func withHeader(r gwv1.HTTPRouteRule) gwv1.HTTPRouteRule {
	r.Filters = headerFilter()
	return r
}

func filtered(b gwv1.HTTPBackendRef) gwv1.HTTPBackendRef {
	b.Filters = headerFilter()
	return b
}

func path(r gwv1.HTTPRouteRule, prefix string) gwv1.HTTPRouteRule {
	r.Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &prefix}}}
	return r
}

// editRules replaces a route's rules, whatever its status has become meanwhile.
func (w *world) editRules(t *testing.T, route *gwv1.HTTPRoute, rules []gwv1.HTTPRouteRule) {
	t.Helper()
	eventually(t, 10*time.Second, 5*time.Millisecond, func(ctx context.Context) error {
		before := route.DeepCopy()
		route.Spec.Rules = rules
		if err := w.Patch(ctx, route, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("edit route %s: %w", route.Name, err)
		}
		return nil
	})
}
