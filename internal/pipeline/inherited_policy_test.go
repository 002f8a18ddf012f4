package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// TestPoliciesRecomputeWhatTheyConcern counts what a change of a policy recomputes among many routes.
func TestPoliciesRecomputeWhatTheyConcern(t *testing.T) {
	t.Parallel()
	const routes = 20
	policy := func(name, kind, target, timeout string) string {
		return fmt.Sprintf(`
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: %s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: %s}]
  timeout: {http: {requestTimeout: %s}}
---
`, name, kind, target, timeout)
	}
	in := base + `
kind: Gateway
metadata: {namespace: infra, name: gw}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
` + policy("gateway", "Gateway", "gw", "10s") + policy("route", "HTTPRoute", "r0", "1s")
	for i := range routes {
		in += fmt.Sprintf(`
kind: HTTPRoute
metadata: {namespace: infra, name: r%d}
spec: {parentRefs: [{name: gw}], hostnames: [h%d.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
`, i, i)
	}
	g := newGraph()
	apply := func(text string) {
		for _, c := range resolvetest.Load(t, strings.TrimSuffix(strings.TrimSpace(text), "---")) {
			g.objects.Apply(c)
		}
	}
	apply(in)
	g.memo.Run()
	first, _ := g.hosts.Get(nil, ir.TableID{Gateway: "infra/gw", Port: 80}.Host("h1.example"))
	second, _ := g.hosts.Get(nil, ir.TableID{Gateway: "infra/gw", Port: 80}.Host("h2.example"))
	if first.Policy == nil || first.Policy != second.Policy || first.Rules[0].Policy != nil {
		t.Error("rules without settings of their own do not share the policy of the listener")
	}

	apply(policy("route", "HTTPRoute", "r0", "2s"))
	if got := g.memo.Run().Computed; got[stageRoute] != 1 || got[stageVirtualHost] != 1 || got[stageListenerPolicies] != 0 {
		t.Errorf("a policy on a route recomputes %d routes and %d hosts, want one of each: %v", got[stageRoute], got[stageVirtualHost], got)
	}
	apply(policy("gateway", "Gateway", "gw", "20s"))
	if got := g.memo.Run().Computed; got[stageRoute] != 0 || got[stageListenerPolicies] != 1 {
		t.Errorf("a policy on a Gateway recomputes %d routes, want none: %v", got[stageRoute], got)
	}
}
