package cluster_test

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/cluster"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

func TestFixedEndpoints(t *testing.T) {
	t.Parallel()
	b := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindBackend, Protocol: ir.BackendHTTP1}
	t.Run("addresses are grouped by zone", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(b, cluster.Options{Fixed: []ir.FixedEndpoint{
			{Address: "192.0.2.1", Port: 80, Zone: "a", Hostname: "one.example"},
			{Address: "192.0.2.2", Port: 81, Zone: "b"},
			{Address: "192.0.2.3", Port: 80, Zone: "a"},
		}})
		prototest.Valid(t, c)
		groups := c.GetLoadAssignment().GetEndpoints()
		if c.GetType() != clusterv3.Cluster_STATIC || len(groups) != 2 || len(groups[0].GetLbEndpoints()) != 2 ||
			groups[1].GetLocality().GetZone() != "b" || groups[0].GetLbEndpoints()[0].GetEndpoint().GetHostname() != "one.example" {
			t.Errorf("cluster: %v", c)
		}
	})
	t.Run("a Unix socket has no options of TCP", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(b, cluster.Options{Fixed: []ir.FixedEndpoint{{Path: "/run/app.sock"}}})
		prototest.Valid(t, c)
		if c.GetUpstreamBindConfig() != nil || c.GetUpstreamConnectionOptions() != nil ||
			c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetPipe().GetPath() != "/run/app.sock" {
			t.Errorf("cluster: %v", c)
		}
	})
	t.Run("names are resolved, and must not lead inside", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(b, cluster.Options{Fixed: []ir.FixedEndpoint{{Name: "a.example", Port: 80}, {Name: "b.example", Port: 80}}})
		if deniedBy(t, c) == nil || c.GetClusterType().GetName() != wire.DNSCluster {
			t.Errorf("cluster: %v", c)
		}
	})
	t.Run("a Backend that cannot be served gets no connection", func(t *testing.T) {
		t.Parallel()
		c := cluster.Cluster(b, cluster.Options{})
		prototest.Valid(t, c)
		if c.GetType() != clusterv3.Cluster_STATIC || len(c.GetLoadAssignment().GetEndpoints()) != 0 {
			t.Errorf("cluster: %v", c)
		}
	})
}

func TestFailover(t *testing.T) {
	t.Parallel()
	first := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "cart"}, Port: 80, Protocol: ir.BackendHTTP1}
	other := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindBackend, Protocol: ir.BackendHTTP2}
	b := ir.Failover(first, other)
	if parsed, ok := ir.ParseBackend(b.String()); !ok || parsed != b {
		t.Errorf("%s is read as %+v", b, parsed)
	}
	c := cluster.Cluster(b, cluster.Options{})
	prototest.Valid(t, c)
	var config aggregatev3.ClusterConfig
	if err := c.GetClusterType().GetTypedConfig().UnmarshalTo(&config); err != nil {
		t.Fatal(err)
	}
	if got := config.GetClusters(); len(got) != 2 || got[0] != first.String() || got[1] != other.String() {
		t.Errorf("clusters: %v", got)
	}
}

func TestNamesOfTLS(t *testing.T) {
	t.Parallel()
	b := ir.Backend{Object: ir.Name{Namespace: "shop", Name: "api"}, Kind: ir.KindBackend, Protocol: ir.BackendHTTP1}
	translate := func(t *testing.T, b ir.Backend, s *ir.BackendTLSSettings) (*tlsv3.UpstreamTlsContext, *upstreamhttpv3.HttpProtocolOptions) {
		t.Helper()
		c := cluster.Cluster(b, cluster.Options{
			Fixed: []ir.FixedEndpoint{{Address: "192.0.2.1", Port: 443}}, Policy: &ir.DestinationPolicy{TLS: &ir.BackendTLS{Settings: s}},
		})
		prototest.Valid(t, c)
		context, options := &tlsv3.UpstreamTlsContext{}, &upstreamhttpv3.HttpProtocolOptions{}
		if err := c.GetTransportSocket().GetTypedConfig().UnmarshalTo(context); err != nil {
			t.Fatal(err)
		}
		for _, packed := range c.GetTypedExtensionProtocolOptions() {
			if err := packed.UnmarshalTo(options); err != nil {
				t.Fatal(err)
			}
		}
		return context, options
	}
	t.Run("the host of the request is asked for and compared", func(t *testing.T) {
		t.Parallel()
		context, options := translate(t, b, &ir.BackendTLSSettings{NameOf: ir.NameOfRequest})
		if got := options.GetUpstreamHttpProtocolOptions(); !got.GetAutoSni() || !got.GetAutoSanValidation() || context.GetAutoHostSni() {
			t.Errorf("%v, %v", context, options)
		}
	})
	t.Run("the hostname of the endpoint is asked for and compared", func(t *testing.T) {
		t.Parallel()
		context, _ := translate(t, b, &ir.BackendTLSSettings{NameOf: ir.NameOfEndpoint})
		if !context.GetAutoHostSni() || !context.GetAutoSniSanValidation() {
			t.Errorf("%v", context)
		}
	})
	t.Run("connections that are passed on have no request", func(t *testing.T) {
		t.Parallel()
		tcp := b
		tcp.Protocol = ir.BackendTCP
		if context, _ := translate(t, tcp, &ir.BackendTLSSettings{NameOf: ir.NameOfRequest}); !context.GetAutoHostSni() {
			t.Errorf("%v", context)
		}
	})
	t.Run("every certificate is trusted only if that is asked for", func(t *testing.T) {
		t.Parallel()
		context, _ := translate(t, b, &ir.BackendTLSSettings{SkipVerify: true, MinVersion: "1.3"})
		if context.GetCommonTlsContext().GetValidationContextType() != nil ||
			context.GetCommonTlsContext().GetTlsParams().GetTlsMinimumProtocolVersion() != tlsv3.TlsParameters_TLSv1_3 {
			t.Errorf("%v", context)
		}
	})
}
