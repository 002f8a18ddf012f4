package pipeline

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// TestAListenerThatAPolicyClosesIsNotProgrammed has a ClientTrafficPolicy that cannot be served, so that a listener accepts no connection.
func TestAListenerThatAPolicyClosesIsNotProgrammed(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec:
  gatewayClassName: gatewright
  allowedListeners: {namespaces: {from: Same}}
  listeners:
    - {name: wide, hostname: '*.corp.example', port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
    - {name: admin, hostname: admin.corp.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
kind: ListenerSet
metadata: {namespace: infra, name: set, generation: 1}
spec:
  parentRef: {name: web}
  listeners: [{name: own, hostname: set.corp.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]
---
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: ciphers, generation: 1}
spec:
  targetRefs:
    - {group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: admin}
    - {group: gateway.networking.k8s.io, kind: ListenerSet, name: set}
  tls: {ciphers: [NONE]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: only, generation: 1}
spec: {parentRefs: [{name: web, sectionName: admin}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: both, generation: 1}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: in-set, generation: 1}
spec: {parentRefs: [{kind: ListenerSet, name: set}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`
	p := Offline(append(keys(), resolvetest.Load(t, base+objects)...))
	const closed = "closes every connection because of ClientTrafficPolicy infra/ciphers"
	gw, _ := p.graph.gatewayStatus.Get(nil, "infra/web")
	set, _ := p.graph.setStatus.Get(nil, "infra/set")
	for i, l := range append(gw.outcome.Listeners, set.outcome.Listeners...) {
		programmed := l.Conditions[len(l.Conditions)-1]
		if got := programmed.Reason == "Invalid" && strings.Contains(programmed.Message, closed); got != (i > 0) {
			t.Errorf("listener %s has %+v", l.Name, programmed)
		}
	}
	for name, want := range map[string]bool{"only": true, "both": false, "in-set": true} {
		o, _ := p.graph.routeStatus.Get(nil, "HTTPRoute/infra/"+name)
		got := false
		for _, c := range o.Parents[0].Conditions {
			got = got || c.Type == outcome.RouteProgrammed && c.Reason == outcome.ListenerNotProgrammed && strings.Contains(c.Message, closed)
		}
		if got != want {
			t.Errorf("route %s has %+v", name, o.Parents[0].Conditions)
		}
	}
}
