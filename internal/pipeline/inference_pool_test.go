package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
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

// poolConditions are the conditions of the pool at its only Gateway.
func poolConditions(t *testing.T, g *graph) []outcome.Condition {
	t.Helper()
	for _, p := range g.policyOutcomes {
		if o, _ := p.outcomes.Get(nil, "infra/pool"); p.kind == store.InferencePool && len(o.Ancestors) == 1 {
			return o.Ancestors[0].Conditions
		}
	}
	t.Fatal("the pool has no status")
	return nil
}

// TestAPoolWhosePickerIsRefused: a pool does not say that its picker chooses while a policy keeps proxies from asking it.
func TestAPoolWhosePickerIsRefused(t *testing.T) {
	t.Parallel()
	const policy = `
kind: BackendTLSPolicy
metadata: {namespace: infra, name: trust}
spec:
  targetRefs: [{group: "", kind: Service, name: v1}]
  validation: {hostname: v1.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: missing}]}
`
	g := newGraph()
	apply := func(changes ...store.Change) []outcome.Condition {
		t.Helper()
		for _, c := range changes {
			g.objects.Apply(c)
		}
		g.memo.Run()
		return poolConditions(t, g)
	}
	got := apply(resolvetest.Load(t, base+pooledRoute)...)
	if got[1].State != outcome.True || !strings.Contains(got[0].Message, "picker chooses") {
		t.Errorf("at first: %+v", got)
	}
	got = apply(resolvetest.Load(t, policy)...)
	if got[1].State != outcome.False || !strings.Contains(got[1].Message, "BackendTLSPolicy infra/trust for Service infra/v1 cannot be") ||
		!strings.Contains(got[1].Message, "503") || strings.Contains(got[0].Message, "picker chooses") {
		t.Errorf("with a policy that is not valid: %+v", got)
	}
	got = apply(store.Change{Kind: store.BackendTLSPolicy, Key: "infra/trust"})
	if got[1].State != outcome.True || !strings.Contains(got[0].Message, "picker chooses") {
		t.Errorf("after it: %+v", got)
	}
}

// TestAPanicClosesAPool: a pool of which nothing is known gets no requests. One that was resolved stays as it is.
func TestAPanicClosesAPool(t *testing.T) {
	t.Parallel()
	backend, _ := ir.ParseBackend("InferencePool/infra/pool/0")
	for _, known := range []bool{false, true} {
		armed := !known
		g := newGraph(memo.ContainPanics(), memo.OnComputed(func(stage, _ string) {
			if armed && stage == stageInferencePool {
				panic("made to")
			}
		}))
		for _, c := range resolvetest.Load(t, base+pooledRoute) {
			g.objects.Apply(c)
		}
		g.memo.Run()
		if known {
			armed = true
			for _, c := range resolvetest.Load(t, strings.ReplaceAll(pooledRoute, "number: 8001", "number: 8002")) {
				g.objects.Apply(c)
			}
			g.memo.Run()
		}
		tls, _ := g.tls.byBackend.Get(nil, backend)
		if closed := tls != nil && tls.FailClosed; closed == known {
			t.Errorf("the pool was resolved before: %t; its connections: %+v", known, tls)
		}
		if pool, _ := g.pools.Get(nil, "infra/pool"); known && pool.Picker == nil {
			t.Errorf("the pool has lost its picker: %+v", pool)
		}
	}
}
