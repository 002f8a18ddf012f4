package pipeline

import (
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	clustertranslate "github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/xds"
)

const external = `
kind: Gateway
metadata: {namespace: infra, name: gateway}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: XBackend
metadata: {namespace: infra, name: api}
spec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: api.k8s.corp}}
---
kind: HTTPRoute
metadata: {namespace: infra, name: route}
spec:
  parentRefs: [{name: gateway}]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: api}]}]
`

// What the operator says of names outside reaches both the conditions and the proxies.
func TestExternalHostnameOptions(t *testing.T) {
	t.Parallel()
	denied := []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
	for _, c := range []struct {
		name   string
		option Option
		reason string
		way    clustertranslate.Options
	}{
		{"a name outside", WithClusterDomain("cluster.local"), "Accepted", clustertranslate.Options{Hostname: "api.k8s.corp"}},
		{
			"addresses may be denied", WithExternalHostnames(true, denied), "Accepted",
			clustertranslate.Options{Hostname: "api.k8s.corp", DeniedAddresses: denied},
		},
		{
			"a name of the cluster's own domain", WithClusterDomain("k8s.corp"), "Invalid",
			clustertranslate.Options{Hostname: "api.k8s.corp", Policy: &ir.DestinationPolicy{TLS: &ir.BackendTLS{FailClosed: true}}},
		},
		{
			"names outside are switched off", WithExternalHostnames(false, nil), "ExternalHostnamesDisabled",
			clustertranslate.Options{Hostname: "api.k8s.corp", Policy: &ir.DestinationPolicy{TLS: &ir.BackendTLS{FailClosed: true}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := New(Outputs{}, prometheus.NewRegistry(), c.option).graph
			for _, change := range resolvetest.Load(t, base+external) {
				g.objects.Apply(change)
			}
			g.memo.Run()
			status, _ := g.xbackendStatus.Get(nil, "infra/api")
			if len(status.Ancestors) != 1 || status.Ancestors[0].Conditions[0].Reason != c.reason {
				t.Errorf("status: %+v", status)
			}
			backend := ir.Backend{Object: ir.Name{Namespace: "infra", Name: "api"}, Kind: ir.KindXBackend, Port: 443, Protocol: ir.BackendHTTP1}
			want, err := xds.NewResource(clustertranslate.Cluster(backend, c.way))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := g.clusters.Get(
				nil,
				ir.GatewayBackend{Gateway: "infra/gateway", Backend: backend},
			); got.resource == nil ||
				got.resource.Version() != want.Version() {
				t.Error("proxies are told something else")
			}
		})
	}
}
