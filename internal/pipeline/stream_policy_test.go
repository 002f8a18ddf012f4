package pipeline

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// TestAPolicyHoldsForConnectionsThatAreForwarded has a listener that ends TLS for a TLSRoute, and a ClientTrafficPolicy that asks for
// certificates of clients. Each hostname of the route has a filter chain of its own.
func TestAPolicyHoldsForConnectionsThatAreForwarded(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Gateway
metadata: {namespace: infra, name: web}
spec:
  gatewayClassName: gatewright
  listeners:
    - {name: tls, hostname: '*.corp.example', port: 443, protocol: TLS, tls: {mode: Terminate, certificateRefs: [{name: cert}]}}
    - {name: https, hostname: web.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
kind: TLSRoute
metadata: {namespace: infra, name: r}
spec:
  parentRefs: [{name: web, sectionName: tls}]
  hostnames: [a.corp.example, b.corp.example]
  rules: [{backendRefs: [{name: v1, port: 80}]}]
---
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: clients}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  tcpKeepalive: {}
  connection: {connectionLimit: {value: 5}}
  tls: {minVersion: "1.3", clientValidation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}}
`
	p := Offline(append(keys(), resolvetest.Load(t, base+objects)...))
	port, _ := p.graph.ports.Get(nil, ir.PortID{Gateway: "infra/web", Port: "443"})
	if port.Accept == nil {
		t.Error("the socket has no settings of the policy")
	}
	forwarded := 0
	for _, chain := range port.Chains {
		policy := chain.Client()
		if policy.Limits.Connections != 5 {
			t.Errorf("filter chain %s takes any number of connections", chain.Name)
		}
		if policy.TLS.Clients == nil || policy.TLS.MinVersion != "1.3" {
			t.Errorf("filter chain %s has settings of TLS %+v, and asks for no certificate", chain.Name, policy.TLS)
		}
		if chain.Stream != nil && chain.Stream.Leads() {
			forwarded++
		}
	}
	if forwarded != 2 {
		t.Errorf("%d filter chains forward connections, want 2: %+v", forwarded, port.Chains)
	}
}
