package pipeline

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	clustertranslate "github.com/gatewright/gatewright/internal/translate/cluster"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	"github.com/gatewright/gatewright/internal/xds"
)

// The families of the cluster reach what proxies bind and how they ask for names.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, families := range []ir.Families{nil, {ir.IPv4}, {ir.IPv6}, {ir.IPv4, ir.IPv6}} {
		g := New(Outputs{}, prometheus.NewRegistry(), WithFamilies(families)).graph
		for _, change := range resolvetest.Load(t, base+external) {
			g.objects.Apply(change)
		}
		g.memo.Run()
		port, _ := g.ports.Get(nil, ir.ParsePortID("infra/gateway|80"))
		backend := ir.Backend{Object: ir.Name{Namespace: "infra", Name: "api"}, Kind: ir.KindXBackend, Port: 443, Protocol: ir.BackendHTTP1}
		listener, err := xds.NewResource(listenertranslate.Bind(listenertranslate.Listener(ir.ParseName("infra/gateway"), port, nil), families))
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := xds.NewResource(clustertranslate.Cluster(backend, clustertranslate.Options{Hostname: "api.k8s.corp", Families: families}))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := g.listeners.Get(
			nil,
			ir.ParsePortID("infra/gateway|80"),
		); got.resource == nil ||
			got.resource.Version() != listener.Version() {
			t.Errorf("%v: the listener binds something else", families)
		}
		if got, _ := g.clusters.Get(
			nil,
			ir.GatewayBackend{Gateway: "infra/gateway", Backend: backend},
		); got.resource == nil ||
			got.resource.Version() != cluster.Version() {
			t.Errorf("%v: names are asked for in another way", families)
		}
	}
}
