package cluster_test

import (
	"testing"

	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestCredential(t *testing.T) {
	t.Parallel()
	settings := &ir.DestinationSettings{Credential: &ir.InjectedCredential{Secret: "app/token", Header: "authorization"}}
	service := func(protocol ir.BackendProtocol) ir.Backend {
		return ir.Backend{Object: ir.Name{Namespace: "a", Name: "b"}, Port: 80, Protocol: protocol}
	}
	for name, c := range map[string]struct {
		backend ir.Backend
		filters int
	}{
		"HTTP/1.1": {service(ir.BackendHTTP1), 2},
		"HTTP/2":   {service(ir.BackendHTTP2), 2},
		"failover": {ir.Failover(service(ir.BackendHTTP1), service(ir.BackendHTTP1)), 2},
		"TCP":      {service(ir.BackendTCP), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cluster.Cluster(c.backend, cluster.Options{Policy: &ir.DestinationPolicy{Settings: settings}})
			prototest.Valid(t, got)
			options := &upstreamhttpv3.HttpProtocolOptions{}
			for _, packed := range got.GetTypedExtensionProtocolOptions() {
				if err := packed.UnmarshalTo(options); err != nil {
					t.Fatal(err)
				}
			}
			if filters := options.GetHttpFilters(); len(filters) != c.filters {
				t.Errorf("filters %v, want %d", filters, c.filters)
			}
		})
	}
}
