//go:build fault

package fault

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// editPause is what a change is given to arrive in before the next: short enough that some overlap.
const editPause = 100 * time.Millisecond

// TestCase24RouteEditsUnderLoad edits one live route again and again: Service, port, weights, filters on rule and backend, order of rules.
// Every variant answers 200 once it is live, so any other answer is a change that dropped a request: a route that named a cluster
// before the proxy had it, or a cluster that left before its last route.
func TestCase24RouteEditsUnderLoad(t *testing.T) {
	t.Parallel()
	c := begin(t, "24", "edits of a live route under load")
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.Make(t, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": serviceName},
				Ports: []corev1.ServicePort{
					{Name: "http", Port: 80, TargetPort: intstr.FromInt32(live.EchoPort)},
					{Name: "more", Port: 81, TargetPort: intstr.FromInt32(live.EchoPort)},
				},
			},
		})
	}
	route := w.Route(t, "edited", gatewayName, "edited.example.com", "a")
	w.WaitServed(t, w.address, "edited.example.com")

	run := w.startLoad(t, "edited.example.com")
	edits := amount(300, 100)
	for i := range edits {
		w.edit(t, route, func(route *gwv1.HTTPRoute) { route.Spec.Rules = variants[i%len(variants)] })
		time.Sleep(editPause)
	}
	c.note("%d edits", edits)
	c.load(run.Stop())
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
