package pipeline

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestLimitsThatAreNotKnownFailClosed: a policy on the Gateway has limits of one kind that cannot be served, beside another policy with
// limits of the other kind. Only a route with both kinds of its own has others instead.
func TestLimitsThatAreNotKnownFailClosed(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: own}
spec: {parentRefs: [{name: web}], hostnames: [own.example], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: own}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: own}]
  rateLimit: {global: {rules: [{limit: {requests: 7, unit: Hour}}]}, local: {rules: [{limit: {requests: 7, unit: Hour}}]}}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: global}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  rateLimit: {global: {rules: [{limit: {requests: 5, unit: Hour}}]}}
---
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: local}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  LIMITS
`
	const limits = "rateLimit: {local: {rules: [{limit: {requests: 5, unit: Hour}}]}}"
	for _, c := range []struct {
		name, limits, unknown string
		panics                bool
		want                  string
	}{
		{name: "served", limits: limits, want: "v1"},
		{name: "a field that cannot be read", unknown: "spec.rateLimit", want: "error"},
		{name: "a panic", limits: limits, panics: true, want: "error"},
		{name: "a unit that is not known", limits: strings.Replace(limits, "Hour", "Year", 1), want: "error"},
		{name: "one rule of two", want: "error", limits: `rateLimit: {local: {rules: [
    {limit: {requests: 5, unit: Hour}},
    {limit: {requests: 5, unit: Hour}, clientSelectors: [{headers: [{name: x-a, type: RegularExpression, value: "("}]}]}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := resolvetest.Load(t, base+strings.Replace(objects, "LIMITS", c.limits, 1))
			for _, change := range changes {
				if change.Key == "infra/local" && c.unknown != "" {
					change.Object.SetAnnotations(store.WithUnknownFields(nil, []string{c.unknown}))
				}
			}
			p := Offline(changes, WithGlobalRateLimits(true), WithFault(func(at, key string) {
				if c.panics && at == string(store.BackendTrafficPolicy) && key == "infra/local" {
					panic("made to")
				}
			}))
			if got := answered(t, p, "http://a.example/"); !strings.Contains(got, c.want) {
				t.Errorf("the Gateway answers %s, want %s", got, c.want)
			}
			if got := answered(t, p, "http://own.example/"); !strings.Contains(got, "v1") {
				t.Errorf("the route with limits of its own answers %s", got)
			}
		})
	}
}
