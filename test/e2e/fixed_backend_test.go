//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/test/live"
)

const fixedBackends = `
apiVersion: gatewright.dev/v1alpha1
kind: Backend
metadata: {name: addresses}
spec:
  endpoints: [{ip: {address: "ADDRESS", port: PORT}, hostname: inner.example}]
---
apiVersion: gatewright.dev/v1alpha1
kind: Backend
metadata: {name: inside}
spec:
  endpoints: [{ip: {address: 169.254.169.254, port: 80}}]
---
apiVersion: gatewright.dev/v1alpha1
kind: Backend
metadata: {name: spare}
spec:
  fallback: true
  endpoints: [{ip: {address: "ADDRESS", port: PORT}}]
---
apiVersion: v1
kind: Service
metadata: {name: nothing}
spec: {selector: {app: nothing}, ports: [{port: 80}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: HTTPRouteFilter
metadata: {name: endpoint-host}
spec: {urlRewrite: {hostname: {type: Backend}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [backends.example.com]
  rules:
    - matches: [{path: {value: /addresses}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: endpoint-host}}]
      backendRefs: [{group: gatewright.dev, kind: Backend, name: addresses}]
    - matches: [{path: {value: /inside}}]
      backendRefs: [{group: gatewright.dev, kind: Backend, name: inside}]
    - matches: [{path: {value: /failover}}]
      backendRefs: [{name: nothing, port: 80}, {group: gatewright.dev, kind: Backend, name: spare}]
    - matches: [{path: {value: /healthy}}]
      backendRefs: [{name: echo, port: 80}, {group: gatewright.dev, kind: Backend, name: inside}]`

// TestBackend sends requests to addresses, and to a fallback while there is nothing else.
func TestBackend(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pods := w.Echo(t, "spare", 1)
	address := w.gatewayAt(t)
	w.makeYAML(t, strings.NewReplacer("ADDRESS", pods[0].Status.PodIP, "PORT", fmt.Sprint(live.EchoPort)).Replace(fixedBackends))
	w.expect(t, address, "backends.example.com", []step{
		{"an address, with the hostname of the endpoint", "/addresses", nil, func(e exchange) string {
			return check(e.status, 200, e.seen.Pod, pods[0].Name, e.seen.Host, "inner.example")
		}},
		{"an address that is not outside", "/inside", nil, func(e exchange) string { return check(e.status, 503) }},
		{"the fallback of a Service without endpoints", "/failover", nil, func(e exchange) string {
			return check(e.status, 200, e.seen.Pod, pods[0].Name)
		}},
	})
	for name, want := range map[string]metav1.ConditionStatus{"addresses": metav1.ConditionTrue, "inside": metav1.ConditionFalse} {
		b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
				return fmt.Errorf("read the Backend: %w", err)
			}
			if !meta.IsStatusConditionPresentAndEqual(b.Status.Conditions, "Accepted", want) {
				return fmt.Errorf("Backend %s: %+v", name, b.Status.Conditions)
			}
			return nil
		})
	}
}
