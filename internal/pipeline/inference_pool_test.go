package pipeline

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

const pooledRoute = `
kind: Gateway
metadata: {namespace: infra, name: gateway}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: InferencePool
metadata: {namespace: infra, name: pool, uid: "1"}
spec:
  selector: {matchLabels: {app: model}}
  targetPorts: [{number: 8000}, {number: 8001}]
  endpointPickerRef: {name: v1, port: {number: 80}}
---
kind: Service
metadata:
  namespace: infra
  name: made
  labels: {app.kubernetes.io/managed-by: gatewright, gatewright.dev/inferencepool-uid: "1"}
  ownerReferences: [{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool, name: pool, uid: "1", controller: true}]
spec: {ports: [{name: p8000, port: 8000}, {name: p8001, port: 8001}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: route}
spec:
  parentRefs: [{name: gateway}]
  rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: pool}]}]
---
`

// podsOfPool is the slice of a pool with one pod.
func podsOfPool(address string) string {
	return fmt.Sprintf(`
kind: EndpointSlice
metadata: {namespace: infra, name: made-1, labels: {kubernetes.io/service-name: made}}
addressType: IPv4
ports: [{name: p8000, port: 8000}, {name: p8001, port: 8001}]
endpoints: [{addresses: [%s]}]
`, address)
}

// TestPodsOfAPoolTranslateNothing: a pod that comes or goes changes one load assignment, and it has every port of the pool.
func TestPodsOfAPoolTranslateNothing(t *testing.T) {
	t.Parallel()
	p := New(discardAll(), prometheus.NewRegistry())
	for _, c := range resolvetest.Load(t, base+pooledRoute+podsOfPool("192.0.2.1")) {
		p.Put(c)
	}
	p.Start()
	for _, c := range resolvetest.Load(t, podsOfPool("192.0.2.2")) {
		p.Put(c)
	}
	if report := p.config.step(); len(report.Computed) != 0 {
		t.Errorf("the configuration lane computed %v for a change of pods", report.Computed)
	}
	if report := p.endpoints.step(); report.Changed[stageServedEndpoints] == 0 {
		t.Errorf("the endpoint lane computed %v", report.Computed)
	}
	a, ok := p.assignments.Table.Get(nil, "InferencePool/infra/pool/0")
	if !ok || a.resource == nil || a.idle {
		t.Errorf("assignment: %+v", a)
	}
}
