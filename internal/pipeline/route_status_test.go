package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const reported = `
kind: Gateway
metadata: {namespace: infra, name: web}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`

// sameMatch is a route with one rule for a path, created on a day.
func sameMatch(name, path string, day int) string {
	return fmt.Sprintf(`kind: HTTPRoute
metadata: {namespace: infra, name: %s, creationTimestamp: "2026-01-%02dT00:00:00Z"}
spec: {parentRefs: [{name: web}], hostnames: [a.example], rules: [{matches: [{path: {value: %s}}], backendRefs: [{name: v1, port: 80}]}]}
---
`, name, day, path)
}

func message(t *testing.T, g *graph, route, condition string) string {
	t.Helper()
	o, ok := g.routeStatus.Get(nil, "HTTPRoute/infra/"+route)
	if !ok {
		t.Fatalf("there is no route %s", route)
	}
	for _, c := range o.Parents[0].Conditions {
		if c.Type == condition {
			return c.Message
		}
	}
	t.Fatalf("route %s has no condition %s: %+v", route, condition, o.Parents)
	return ""
}

func loaded(t *testing.T, text string) *graph {
	t.Helper()
	g := newGraph()
	for _, c := range resolvetest.Load(t, base+reported+text) {
		g.objects.Apply(c)
	}
	g.memo.Run()
	return g
}

func TestShadowedRuleReportsWhichRouteTakesItsRequests(t *testing.T) {
	t.Parallel()
	g := loaded(t, sameMatch("second", "/x", 2)+sameMatch("third", "/y", 3))
	const note = "rule 0 gets no requests: rule 0 of HTTPRoute infra/first has the same match"
	if m := message(t, g, "second", "Accepted"); strings.Contains(m, "gets no requests") {
		t.Fatalf("nothing shadows it, and it says %q", m)
	}
	// A route that comes changes the status of the one it shadows, and computes that of no other.
	for _, c := range resolvetest.Load(t, sameMatch("first", "/x", 1)) {
		g.objects.Apply(c)
	}
	report := g.memo.Run()
	if m := message(t, g, "second", "Accepted"); !strings.Contains(m, note) {
		t.Errorf("got %q, want %q", m, note)
	}
	if n := report.Computed[stageRouteStatus]; n != 2 {
		t.Errorf("computed the status of %d routes, want that of the new one and the one it shadows", n)
	}
	g.objects.Apply(store.Change{Kind: store.HTTPRoute, Key: "infra/first"})
	g.memo.Run()
	if m := message(t, g, "second", "Accepted"); strings.Contains(m, "gets no requests") {
		t.Errorf("what shadowed it is gone, and it says %q", m)
	}
}

func TestIdleBackendIsReportedByItsRoutesAlone(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(sameMatch("other", "/y", 2), "name: v1", "name: v2")
	g := loaded(t, sameMatch("shop", "/x", 1)+other)
	for _, idle := range []bool{true, false} {
		g.takeIdle(map[ir.Endpoints]bool{ir.ParseEndpoints("infra/v1/80"): idle})
		report := g.memo.Run()
		if got := strings.Contains(message(t, g, "shop", "ResolvedRefs"), "Service infra/v1 has no ready endpoints"); got != idle {
			t.Errorf("told: %t, want %t", got, idle)
		}
		if n := report.Computed[stageRouteStatus]; n != 1 || len(report.Computed) != 1 {
			t.Errorf("computed %v, want the status of one route", report.Computed)
		}
	}
	o, _ := g.routeStatus.Get(nil, "HTTPRoute/infra/shop")
	for _, c := range o.Parents[0].Conditions {
		if c.State != outcome.True {
			t.Errorf("%+v", c)
		}
	}
}
