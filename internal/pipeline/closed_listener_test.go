package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// closedListeners are listeners that a ClientTrafficPolicy closes, beside one that is served.
const closedListeners = `
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

// TestAListenerThatAPolicyClosesIsNotProgrammed has a ClientTrafficPolicy that cannot be served, so that a listener accepts no connection.
func TestAListenerThatAPolicyClosesIsNotProgrammed(t *testing.T) {
	t.Parallel()
	// Another policy cannot be served either, but closes nothing.
	const other = `
---
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: addresses, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  clientIPDetection: {xForwardedFor: {trustedCIDRs: [none]}}
`
	p := Offline(append(keys(), resolvetest.Load(t, base+closedListeners+other)...))
	if o := policyOutcome(t, p.graph, store.ClientTrafficPolicy, "infra/addresses"); o.Conditions[0].State != outcome.False {
		t.Errorf("the other policy has %+v", o.Conditions)
	}
	const closed = "closes every connection because of ClientTrafficPolicy infra/ciphers"
	gw, _ := p.graph.gatewayStatus.Get(nil, "infra/web")
	set, _ := p.graph.setStatus.Get(nil, "infra/set")
	for i, l := range append(gw.outcome.Listeners, set.outcome.Listeners...) {
		programmed := l.Conditions[len(l.Conditions)-1]
		if got := programmed.Reason == "Invalid" && strings.HasPrefix(programmed.Message, "the listener "+closed+", whose"); got != (i > 0) {
			t.Errorf("listener %s has %+v", l.Name, programmed)
		}
	}
	if programmed := set.outcome.Conditions[1]; programmed.State != outcome.False || programmed.Reason != "ListenersNotValid" ||
		!strings.Contains(programmed.Message, "own "+closed) {
		t.Errorf("the ListenerSet has %+v", programmed)
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

// TestAPolicyOnAListenerThatAnotherOneClosesIsNotProgrammed has policies on such a listener, on a ListenerSet and on the Gateway, of which
// another listener is served.
func TestAPolicyOnAListenerThatAnotherOneClosesIsNotProgrammed(t *testing.T) {
	t.Parallel()
	policy := func(kind, name, target, settings string) string {
		return "---\napiVersion: gatewright.dev/v1alpha1\nkind: " + kind + "\nmetadata: {namespace: infra, name: " + name + ", generation: 1}\n" +
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, " + target + "}], " + settings + "}\n"
	}
	const deny, timeout = "authorization: {defaultAction: Deny}", "timeout: {http: {requestTimeout: 1s}}"
	const admin, set = "kind: Gateway, name: web, sectionName: admin", "kind: ListenerSet, name: set"
	p := Offline(append(keys(), resolvetest.Load(t, base+closedListeners+
		policy("SecurityPolicy", "listener", admin, deny)+policy("BackendTrafficPolicy", "listener", admin, timeout)+
		policy("SecurityPolicy", "set", set, deny)+policy("SecurityPolicy", "gateway", "kind: Gateway, name: web", deny)+
		policy("SecurityPolicy", "override", admin, "strategy: Overrides, cors: {allowOrigins: ['https://a.example']}")+`---
kind: HTTPRoute
metadata: {namespace: infra, name: own-cors, generation: 1}
spec:
  parentRefs: [{name: web, sectionName: admin}]
  rules: [{filters: [{type: CORS, cors: {allowOrigins: ['https://b.example']}}], backendRefs: [{name: v1, port: 80}]}]
`)...))
	const notServed = "ListenerNotProgrammed: no setting takes effect: "
	const ofListener = notServed + "listener admin of Gateway infra/web is not served; see its conditions"
	for _, c := range []struct {
		kind       store.Kind
		name, want string
	}{
		{store.SecurityPolicy, "listener", ofListener},
		{store.BackendTrafficPolicy, "listener", ofListener},
		{store.SecurityPolicy, "override", ofListener},
		{store.SecurityPolicy, "set", notServed + "no listener of ListenerSet infra/set is served; see their conditions"},
		{store.SecurityPolicy, "gateway", ""},
	} {
		got := ""
		for _, condition := range policyOutcome(t, p.graph, c.kind, "infra/"+c.name).Conditions {
			if condition.Type == outcome.Programmed {
				got = condition.Reason + ": " + condition.Message
			}
		}
		if got != c.want {
			t.Errorf("%s %s: Programmed is %q, want %q", c.kind, c.name, got, c.want)
		}
	}
}

// TestWhyListenersAreNotServed has a listener without a certificate, and one that a policy closes. The policy is valid, but overrides what
// the Gateway says of client certificates.
func TestWhyListenersAreNotServed(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web, generation: 1}
spec:
  gatewayClassName: gatewright
  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}}}}
  listeners:
    - {name: bare, hostname: bare.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: gone}]}}
    - {name: closed, hostname: closed.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: clients, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: closed}]
  strategy: Overrides
  tls: {clientValidation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}}
---
kind: HTTPRoute
metadata: {namespace: infra, name: r, generation: 1}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`
	p := Offline(append(keys(), resolvetest.Load(t, base+objects)...))
	gw, _ := p.graph.gatewayStatus.Get(nil, "infra/web")
	var programmed []string
	for _, l := range gw.outcome.Listeners {
		programmed = append(programmed, l.Conditions[len(l.Conditions)-1].Message)
	}
	if want := []string{
		"the listener has no usable certificate",
		"the listener closes every connection because of ClientTrafficPolicy infra/clients, whose conditions say why",
	}; !slices.Equal(programmed, want) {
		t.Errorf("listeners have %q, want %q", programmed, want)
	}
	o, _ := p.graph.routeStatus.Get(nil, "HTTPRoute/infra/r")
	const want = "no proxy serves the route: listener bare of Gateway infra/web has no usable certificate; see its condition ResolvedRefs; " +
		"listener closed of Gateway infra/web closes every connection because of ClientTrafficPolicy infra/clients; see its conditions"
	if !slices.ContainsFunc(o.Parents[0].Conditions, func(c outcome.Condition) bool {
		return c.Type == outcome.RouteProgrammed && c.Reason == outcome.ListenerNotProgrammed && c.Message == want
	}) {
		t.Errorf("the route has %+v, want %q", o.Parents[0].Conditions, want)
	}
	got := ""
	for _, c := range policyOutcome(t, p.graph, store.ClientTrafficPolicy, "infra/clients").Conditions {
		got += c.Reason + ": " + c.Message + "; "
	}
	if !strings.Contains(got, "has spec.tls.frontend of its own and is rejected") {
		t.Errorf("the policy has %q", got)
	}
}
