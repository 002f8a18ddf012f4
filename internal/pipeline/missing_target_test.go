package pipeline

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestAPolicyNamesWhatItsTargetLacks has policies that attach to nothing, and asks what they tell their authors to do.
func TestAPolicyNamesWhatItsTargetLacks(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r, labels: {tier: one}}
spec: {parentRefs: [{name: web}], rules: [{name: open, backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: tenant, name: secret-name, labels: {tier: two}}
spec: {parentRefs: [{name: web, namespace: infra}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
apiVersion: gatewright.dev/v1alpha1
kind: SecurityPolicy
metadata: {namespace: infra, name: p}
spec: {authorization: {defaultAction: Deny}, `
	const grant = `
---
kind: ReferenceGrant
metadata: {namespace: tenant, name: g}
spec:
  from: [{group: gatewright.dev, kind: SecurityPolicy, namespace: infra}]
  to: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]
`
	const noEffect, correct = ", so the policy has no effect there; its ", ": correct sectionName, or the name"
	const group = "group: gateway.networking.k8s.io, "
	const missing = "targetSelectors[0] selects no HTTPRoute of another namespace: it needs these labels, and a ReferenceGrant in its " +
		"namespace from SecurityPolicy (gatewright.dev) of namespace infra"
	for _, c := range []struct{ name, targets, more, want string }{
		// The standard: "If a SectionName is specified, but does not exist on the targeted object, the Policy must fail to attach".
		{
			"a rule that was renamed", "targetRefs: [{" + group + "kind: HTTPRoute, name: r, sectionName: admin}]", "",
			`HTTPRoute infra/r has no rule named "admin"` + noEffect + `rules are named ["open"]` + correct,
		},
		{
			"a listener that was renamed", "targetRefs: [{" + group + "kind: Gateway, name: web, sectionName: admin}]", "",
			`Gateway infra/web has no listener named "admin"` + noEffect + `listeners are named ["http"]` + correct,
		},
		{
			"no grant", "targetSelectors: [{" + group + "kind: HTTPRoute, matchLabels: {tier: two}, namespaces: {from: All}}]", "",
			"the policy has no target: " + missing,
		},
		{
			"no grant beside a target", "targetSelectors: [{" + group + "kind: HTTPRoute, matchExpressions: [{key: tier, operator: Exists}], " +
				"namespaces: {from: All}}]", "", missing,
		},
		{"a grant", "targetSelectors: [{" + group + "kind: HTTPRoute, matchLabels: {tier: two}, namespaces: {from: All}}]", grant, ""},
		{
			"no labels", "targetSelectors: [{" + group + "kind: HTTPRoute, matchLabels: {tier: none}}]", "",
			"the policy has no target: targetSelectors[0] selects no HTTPRoute of namespace infra: none has these labels",
		},
		{
			"no labels beside those of another selector", "targetSelectors: [{" + group + "kind: HTTPRoute, matchLabels: {tier: none}}, {" +
				group + "kind: HTTPRoute, matchLabels: {tier: one}}]", "",
			"targetSelectors[0] selects no HTTPRoute of namespace infra: none has these labels",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Offline(resolvetest.Load(t, base+objects+c.targets+"}"+c.more))
			for _, kind := range p.graph.policyOutcomes {
				o, ok := kind.outcomes.Get(nil, "infra/p")
				if kind.kind != store.SecurityPolicy || !ok {
					continue
				}
				got := o.Conditions[0].Message
				if !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "target") != strings.Contains(got, "of the targets") ||
					strings.Contains(got, "secret-name") {
					t.Errorf("the policy says %q, want %q", got, c.want)
				}
			}
		})
	}
}
