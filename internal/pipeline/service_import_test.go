package pipeline

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const importedRoute = `
kind: Gateway
metadata: {namespace: infra, name: gateway}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: route}
spec:
  parentRefs: [{name: gateway}]
  rules: [{backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: cart, port: 80}]}]
---
`

const importedCart = `
kind: ServiceImport
metadata: {namespace: infra, name: cart}
spec: {type: ClusterSetIP, ports: [{name: web, port: 80}]}
---
`

// sliceOfImport is a slice with one pod of a cluster.
func sliceOfImport(cluster, address string) string {
	return fmt.Sprintf(`
kind: EndpointSlice
metadata:
  namespace: infra
  name: cart-%s
  labels: {multicluster.kubernetes.io/service-name: cart, multicluster.kubernetes.io/source-cluster: %s}
addressType: IPv4
ports: [{name: web, port: 8080}]
endpoints: [{addresses: [%s]}]
---
`, cluster, cluster, address)
}

// TestSlicesOfAnImportTranslateNothing: slices that come and go change one load assignment.
func TestSlicesOfAnImportTranslateNothing(t *testing.T) {
	t.Parallel()
	p := New(discardAll(), prometheus.NewRegistry(), WithClusterID("east"))
	for _, c := range resolvetest.Load(t, base+importedRoute+importedCart+sliceOfImport("east", "192.0.2.1")) {
		p.Put(c)
	}
	p.Start()
	changes := resolvetest.Load(t, sliceOfImport("west", "192.0.2.2")+sliceOfImport("east", "192.0.2.3"))
	changes = append(changes, store.Change{Kind: store.EndpointSlice, Key: "infra/cart-east"})
	for _, c := range changes {
		p.Put(c)
		if report := p.config.step(); len(report.Computed) != 0 {
			t.Errorf("the configuration lane computed %v for a change of endpoints", report.Computed)
		}
		if report := p.endpoints.step(); report.Changed[stageServedEndpoints] == 0 {
			t.Errorf("the endpoint lane computed %v", report.Computed)
		}
	}
	a, ok := p.assignments.Table.Get(nil, "ServiceImport/infra/cart/80")
	if !ok || a.resource == nil || a.idle {
		t.Errorf("assignment: %+v", a)
	}
}

// TestAnImportComesAndGoes: a route follows the import that it refers to.
func TestAnImportComesAndGoes(t *testing.T) {
	t.Parallel()
	g := newGraph()
	apply := func(changes ...store.Change) {
		for _, c := range changes {
			g.objects.Apply(c)
		}
		g.memo.Run()
	}
	resolved := func() bool {
		r, _ := g.routes.Get(nil, "HTTPRoute/infra/route")
		return len(r.MissingServices()) == 0
	}
	apply(resolvetest.Load(t, base+importedRoute)...)
	if resolved() {
		t.Error("the route resolves without the import")
	}
	apply(resolvetest.Load(t, importedCart)...)
	if !resolved() {
		t.Error("the route does not resolve with the import")
	}
	apply(store.Change{Kind: store.ServiceImport, Key: "infra/cart"})
	if resolved() {
		t.Error("the route resolves though the import is gone")
	}
}
