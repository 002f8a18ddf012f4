package cluster_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
)

func TestVariantsAreClustersThatShareEndpoints(t *testing.T) {
	t.Parallel()
	plain := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 80, Protocol: ir.BackendHTTP2}
	names := map[string]bool{}
	for _, variant := range []string{"", "3f2a", "77c0"} {
		b := plain
		b.Variant = variant
		c := cluster.Cluster(b, cluster.Options{})
		names[c.GetName()] = true
		if got := c.GetEdsClusterConfig().GetServiceName(); got != "shop/cart/80" {
			t.Errorf("variant %q has the endpoints of %q", variant, got)
		}
	}
	for _, want := range []string{"shop/cart/80/http2", "shop/cart/80/http2~3f2a", "shop/cart/80/http2~77c0"} {
		if !names[want] {
			t.Errorf("no cluster %q among %v", want, names)
		}
	}
}
