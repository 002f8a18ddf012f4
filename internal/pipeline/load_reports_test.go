package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/xds"
)

// TestReportsOfLoadAreHiddenWhereABackendIsWeighedByThem: at whatever level the policy is, and not where it keeps them. A policy on a
// Service recomputes its hosts alone.
func TestReportsOfLoadAreHiddenWhereABackendIsWeighedByThem(t *testing.T) {
	t.Parallel()
	const (
		weighed = "loadBalancer: {type: BackendUtilization"
		gateway = "group: gateway.networking.k8s.io, kind: Gateway, name: gw"
		rule    = "group: gateway.networking.k8s.io, kind: HTTPRoute, name: r1"
		service = `group: "", kind: Service, name: v1`
	)
	for name, c := range map[string]struct {
		target, settings string
		// hidden says for each host whether reports are hidden there.
		hidden [2]bool
	}{
		"on a Gateway":      {gateway, weighed + "}", [2]bool{true, true}},
		"on a Service":      {service, weighed + "}", [2]bool{true, false}},
		"on a route":        {rule, weighed + ", backendUtilization: {keepResponseHeaders: false}}", [2]bool{true, false}},
		"that are kept":     {service, weighed + ", backendUtilization: {keepResponseHeaders: true}}", [2]bool{}},
		"of another policy": {service, "loadBalancer: {type: RoundRobin}", [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph()
			apply := func(text string) {
				for _, c := range resolvetest.Load(t, strings.TrimSuffix(strings.TrimSpace(text), "---")) {
					g.objects.Apply(c)
				}
			}
			in := base + `
kind: Gateway
metadata: {namespace: infra, name: gw}
spec: {gatewayClassName: gatewright, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`
			for i := range 2 {
				in += fmt.Sprintf(`
kind: Service
metadata: {namespace: infra, name: v%[1]d}
spec: {ports: [{port: 80}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r%[1]d}
spec: {parentRefs: [{name: gw}], hostnames: [h%[1]d.example], rules: [{backendRefs: [{name: v%[1]d, port: 80}]}]}
---
`, i+1)
			}
			apply(in)
			g.memo.Run()
			apply(fmt.Sprintf(`
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {namespace: infra, name: p}
spec: {targetRefs: [{%s}], %s}
`, c.target, c.settings))
			computed := g.memo.Run().Computed
			if got := computed[stageHostProto]; c.target == service && got > 1 {
				t.Errorf("a policy on one Service translates %d hosts", got)
			}
			for i, hidden := range c.hidden {
				id := ir.TableID{Gateway: "infra/gw", Port: 80}.Host(fmt.Sprintf("h%d.example", i+1))
				host, _ := g.hosts.Get(nil, id)
				proto, _ := route.VirtualHost(host.HidingReports(func(ir.Backend) bool { return hidden }))
				want, err := xds.NewResource(proto)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := g.virtualHosts.Get(nil, id); version(got.resource) != want.Version() {
					t.Errorf("%s does not have hidden reports: %t", id, hidden)
				}
			}
		})
	}
}
