package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// ofEachKind has one object of each kind whose unknown fields are marked, and a route that uses them.
const ofEachKind = base + `
kind: Gateway
metadata: {namespace: infra, name: gw}
spec:
  gatewayClassName: gatewright
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec:
  parentRefs: [{name: gw}]
  rules:
    - matches: [{path: {value: /filter}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: HTTPRouteFilter, name: p}}]
      backendRefs: [{name: v1, port: 80}]
    - matches: [{path: {value: /extension}}]
      filters: [{type: ExtensionRef, extensionRef: {group: gatewright.dev, kind: Extension, name: p}}]
      backendRefs: [{name: v1, port: 80}]
    - backendRefs: [{group: gatewright.dev, kind: Backend, name: p}]
---
kind: HTTPRouteFilter
metadata: {namespace: infra, name: p}
spec: {matches: [{cookies: [{name: a, value: b}]}]}
---
kind: Extension
metadata: {namespace: infra, name: p}
spec: {lua: [{inline: "function envoy_on_request(handle) end"}]}
---
kind: Backend
metadata: {namespace: infra, name: p}
spec: {endpoints: [{ip: {address: 192.0.2.1, port: 80}}]}
---
kind: SecurityPolicy
metadata: {namespace: infra, name: p}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  authorization: {rules: [{action: Allow, principal: {clientCIDRs: [10.0.0.0/8]}}]}
---
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: p}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  tls: {minVersion: "1.3"}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: p}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  timeout: {http: {requestTimeout: 10s}}
`

// TestAnUnknownFieldFailsClosed: what can be read of an object may permit more than the object does.
func TestAnUnknownFieldFailsClosed(t *testing.T) {
	t.Parallel()
	for _, kind := range store.Kinds {
		if !kind.MarkUnknown {
			continue
		}
		t.Run(string(kind.Kind), func(t *testing.T) {
			t.Parallel()
			g := newGraph()
			g.objects.EnabledExtensions = store.ExtensionTypes{Lua: true}
			var own store.Change
			for _, c := range append(keys(), resolvetest.Load(t, ofEachKind)...) {
				g.objects.Apply(c)
				if c.Kind == kind.Kind {
					own = c
				}
			}
			g.memo.Run()
			if isClosed(g, kind.Kind) || strings.Contains(statusText(g), "does not know") {
				t.Errorf("it is closed before: %s", statusText(g))
			}
			typed, _ := own.Object.(store.Object)
			marked, _ := typed.DeepCopyObject().(store.Object)
			marked.SetAnnotations(store.WithUnknownFields(nil, []string{"spec.tls.later"}))
			g.objects.Apply(store.Change{Kind: own.Kind, Key: own.Key, Object: marked})
			g.memo.Run()
			if !isClosed(g, kind.Kind) {
				t.Error("it is not closed")
			}
			if !strings.Contains(statusText(g), "does not know spec.tls.later") {
				t.Errorf("no status has it: %s", statusText(g))
			}
		})
	}
}

// isClosed says whether nothing passes that the object of a kind is for. A BackendTrafficPolicy protects nothing, and reports it.
func isClosed(g *graph, kind store.Kind) bool {
	fails := func(path string) bool {
		for _, key := range g.hosts.Keys(nil) {
			host, _ := g.hosts.Get(nil, key)
			for i := range host.Rules {
				rule := &host.Rules[i]
				policy := host.PolicyOf(rule)
				broken := len(policy.Authorization) > 0 && policy.Authorization[0].Guard == ir.Broken
				if rule.Match.Path.Value == path && (rule.Fail != nil || broken) {
					return true
				}
			}
		}
		return false
	}
	switch kind {
	case store.HTTPRouteFilter:
		return fails("/filter")
	case store.Extension:
		return fails("/extension")
	case store.SecurityPolicy:
		return fails("/")
	case store.Backend:
		b, _ := g.fixedBackends.Get(nil, "infra/p")
		return b.TLS != nil && b.TLS.FailClosed
	case store.ClientTrafficPolicy:
		port, _ := g.ports.Get(nil, ir.PortID{Gateway: "infra/gw", Port: "443"})
		return len(port.Chains) > 0 && port.Chains[0].Client().FailClosed
	case store.BackendTrafficPolicy:
		return strings.Contains(statusText(g), "does not know")
	default:
		return false
	}
}

// statusText is what is said of all objects.
func statusText(g *graph) string {
	text, _ := json.Marshal(statusOf(g))
	return string(text)
}
