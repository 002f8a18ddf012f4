package live

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// VariantService is the Service that a route has before it is given variants.
const VariantService = "a"

// VariantServices makes the Services that variants send to, all with the same echo pods.
func (w *Fixture) VariantServices(t *testing.T, echo string) {
	t.Helper()
	for _, name := range []string{VariantService, "b", "c", "d"} {
		w.Make(t, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": echo},
				Ports: []corev1.ServicePort{
					{Name: "http", Port: 80, TargetPort: intstr.FromInt32(EchoPort)},
					{Name: "more", Port: 81, TargetPort: intstr.FromInt32(EchoPort)},
				},
			},
		})
	}
}

// Variant is the rules of a route's i-th edit: Service, port, weights, filters on rule and backend, order of rules. All answer 200 once
// they are live, and each needs clusters that the one before does not have.
func Variant(i int) []gwv1.HTTPRouteRule { return variants[i%len(variants)] }

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
