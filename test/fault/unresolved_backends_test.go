//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestCase16UnresolvedBackends has one route with a good rule beside rules whose Services cannot be reached in every way there is.
// Only those rules fail, and the route says why.
func TestCase16UnresolvedBackends(t *testing.T) {
	t.Parallel()
	const host = "nowhere.example.com"
	c := begin(t, "16", "backends that lead nowhere: ExternalName, no port, no endpoints")
	w := newFixture(t)
	run := w.startLoad(t, steadyHost)

	w.Make(t,
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "external"},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Ports: []corev1.ServicePort{{Port: 80}},
			},
		},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "empty"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		live.ManualService("portless"), portless("portless", "198.18.255.1"),
	)
	route := live.HTTPRoute("nowhere", gatewayName, host, serviceName)
	for _, service := range []string{"external", "empty", "portless", "missing"} {
		rule := *live.HTTPRoute("", gatewayName, host, service).Spec.Rules[0].DeepCopy()
		rule.Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: new("/" + service)}}}
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	w.Make(t, route)
	w.WaitServed(t, w.address, host)

	wrong := 0
	for path, want := range map[string]int{"/": 200, "/external": 500, "/empty": 503, "/portless": 503, "/missing": 500} {
		live.Eventually(t, 10*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
			got, err := w.answer(ctx, host, path)
			if err == nil && got != want {
				return fmt.Errorf("%s is answered %d, want %d", path, got, want)
			}
			return err
		})
	}
	for range 100 {
		if got, err := w.answer(t.Context(), host, "/"); err != nil || got != http.StatusOK {
			wrong++
		}
	}
	c.none(wrong, "of 100 requests for the good rule failed")
	w.waitSaid(t, route, "XBackend")
	c.load(run.Stop())
	c.none(nacks(t, w.OneProxy(t, gatewayName)), "NACKs of the proxy")
	c.took(w.slowestOf(t, others, "other"), "others updated within", othersLimit)

	bad := live.HTTPRoute("without-port", gatewayName, "portless.example.com", serviceName)
	bad.Namespace = w.Namespace
	bad.Spec.Rules[0].BackendRefs[0].Port = nil
	if err := w.Create(t.Context(), bad); err == nil {
		t.Error("case 16: the API server takes a reference to a Service without a port")
	}
}

// portless is a slice whose port has no number, which means all ports.
func portless(service, address string) *discoveryv1.EndpointSlice {
	slice := live.EndpointSlice(service, address)
	slice.Ports[0].Port = nil
	return slice
}

// answer is the status by which a request is answered.
func (w *fixture) answer(ctx context.Context, host, path string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask for %s%s: %w", host, path, err)
	}
	request.Host = host
	response, err := w.HTTP.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask for %s%s: %w", host, path, err)
	}
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// waitSaid waits until the references of a route are said not to resolve, in words that have the wanted one.
func (w *fixture) waitSaid(t *testing.T, route *gwv1.HTTPRoute, word string) {
	t.Helper()
	live.Eventually(t, 10*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		status, _, message, err := w.conditionOf(ctx, route, string(gwv1.RouteConditionResolvedRefs))
		if err != nil {
			return err
		}
		if status != string(metav1.ConditionFalse) || !strings.Contains(message, word) {
			return fmt.Errorf("ResolvedRefs is %s: %s", status, message)
		}
		return nil
	})
}
